"""The Lisp of AlgoLisp: types, checks, functions, the machine that runs it, and typed decoding."""
