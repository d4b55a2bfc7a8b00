"""The algorithms, one a file; triptych/rl/methods.py finds them by listing this folder."""
