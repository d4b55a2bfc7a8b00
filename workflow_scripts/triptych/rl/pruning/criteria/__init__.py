"""The pruning criteria, one a file; triptych/rl/methods.py finds them by listing this folder.

A file's function `masks(networks, percent)` returns boolean masks [K, in, out] by weight name. One
whose masks change while the networks train has `change_updates` and `changed`, too.
"""
