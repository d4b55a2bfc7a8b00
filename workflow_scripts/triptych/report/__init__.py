"""Presentation of results, the same for every study."""
