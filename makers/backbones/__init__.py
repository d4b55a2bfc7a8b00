"""Backbones trained on photographs without labels."""
