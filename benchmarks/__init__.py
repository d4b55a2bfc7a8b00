"""Ours against what a user would take instead; nothing in the library imports it."""
