"""Stacks of networks, trained side by side and resumably."""
