"""Typed decoding: which words may come next in a half-written Lisp program."""
