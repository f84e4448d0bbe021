"""A generator of everyday word problems: templates are data in TOML, the engine draws words, numbers and orders."""

from tpn2f.domains.everyday.generation.generator import ProblemGenerator, generate, generate_later

__all__ = ["ProblemGenerator", "generate", "generate_later"]
