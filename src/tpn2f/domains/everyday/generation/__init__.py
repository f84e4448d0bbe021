"""A generator of everyday word problems: templates are data in TOML, the engine draws words, numbers and orders."""

from tpn2f.domains.everyday.generation.generator import Generator, generate

__all__ = ["Generator", "generate"]
