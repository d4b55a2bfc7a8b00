"""Errors that are told to a person rather than traced."""


class InputError(Exception):
    """What was given cannot be used: one message with what was given, expected and to be done."""
