"""The explorer and the API behind it: `tpn2f serve`. Holds no logic of its own: `Solver` and `explain` do the work."""
