"""More AlgoLisp to learn from: a grammar induced from a training part, and the records it makes."""
