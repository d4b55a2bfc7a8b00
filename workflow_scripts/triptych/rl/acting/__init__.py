"""Policies that act: scored, timed, exported."""
