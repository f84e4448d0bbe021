"""Two systems on the same examples: `compare_files` for result files and prediction files, `compare` for outcomes."""

from tpn2f.compare.files import Scored, compare_files, examples_of, read_scored
from tpn2f.compare.pairs import Comparison, Contrast, compare, mcnemar

__all__ = ["Comparison", "Contrast", "Scored", "compare", "compare_files", "examples_of", "mcnemar", "read_scored"]
