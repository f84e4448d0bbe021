"""Everyday word problems: one reading, one language, many sources."""

from tpn2f.domains.everyday.domain import Everyday

__all__ = ["Everyday"]
