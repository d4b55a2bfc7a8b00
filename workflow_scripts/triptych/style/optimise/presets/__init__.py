"""Presets of Version 1, a module each; its name is the config's `preset`.

A module has `choices(architecture)`, which returns fields of `Choices` for a backbone's
architecture; others keep their defaults. PLACE orders figures. No PyTorch: planning loads presets.
docs/style-presets.md compares them.
"""
