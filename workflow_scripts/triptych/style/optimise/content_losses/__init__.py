"""Content losses of Version 1, a module each; its name is the config's `content_loss`.

A module has LABEL and `differences(features, targets)`, the elementwise loss; and where it departs
from a plain sum under the scaling "equation", EQUATION_FACTOR. PLACE (in figures), COLOUR and DASH
are optional.
"""
