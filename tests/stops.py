"""Stand-ins for a wish to stop (triptych.core.stopping), which trainings look at."""


class Never:
    reason = None


class StopAfter:
    """Asks to stop when it has been asked so often."""

    def __init__(self, looks):
        self._left = looks

    @property
    def reason(self):
        self._left -= 1
        return "SIGTERM" if self._left < 0 else None
