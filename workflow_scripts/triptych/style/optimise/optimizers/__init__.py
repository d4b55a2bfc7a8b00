"""Optimisers of Version 1, a module each; its name is the config's `optimizer`.

A module has LABEL; AUTHORS and TUNED, the choices that the authors' notebook and tuned rates bring
along; and `optimizer(rows, choices)`, a RowOptimizer of images as rows [B, n]. PLACE (in figures),
COLOUR and `memory_images(choices)`, images that one takes in memory (else 10), are optional.
"""
