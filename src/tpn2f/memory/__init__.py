"""Memory as a system of its own, `retrieval+model`: the nearest training programs as further candidates of a model.

Never to be reported as the model alone. Needs the training examples and scikit-learn.
"""

from tpn2f.memory.answers import Mixed, answer_with_memory
from tpn2f.memory.mixture import Mixture, fit_mixture
from tpn2f.memory.recall import Recalled, recall

__all__ = ["Mixed", "Mixture", "Recalled", "answer_with_memory", "fit_mixture", "recall"]
