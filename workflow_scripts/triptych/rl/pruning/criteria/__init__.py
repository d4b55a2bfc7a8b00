"""The pruning criteria, one a file; triptych/rl/methods.py finds them by listing this folder.

A file has a function `masks(networks: Unpruned, percent: float)`, which returns boolean masks
[K, in, out] by weight name at initialisation. Where masks change while the networks train
(CHANGES_MASKS), `change_updates(updates: int)` returns the numbers of the updates after which they
do, and `changed(row: TrainedRow)` the new masks [1, in, out] of one network.
"""
