"""Buffon's needle (1777): pi by throwing needles on a lined floor."""
