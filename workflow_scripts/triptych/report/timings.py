"""Durations in words."""

import pandas as pd

from triptych.report.tables import DASH


def duration(seconds: float) -> str:
    """Seconds as a person says them: `48 s`, `3 min 05 s`, `2 h 10 min`."""
    if pd.isna(seconds):
        return DASH
    if round(seconds) < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min"
