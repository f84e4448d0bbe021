"""Everyday word problems: one reading, one language, many sources."""
