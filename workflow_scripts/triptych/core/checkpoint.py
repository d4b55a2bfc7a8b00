"""Resumable state of a long job, under results/checkpoints/: Snakemake deletes outputs.

Its fingerprint is a digest of all that determines the job's result (params, code, data); a
checkpoint with another one is left aside and the job starts afresh.
"""

import logging
import os
from pathlib import Path
from typing import Any

import torch

from triptych.core.files import atomic_path

logger = logging.getLogger(__name__)


class Checkpoint:
    """One job's state on disk, as `folder`/state.pt."""

    def __init__(self, folder: str | os.PathLike[str], fingerprint: str) -> None:
        self.path = Path(folder) / "state.pt"
        self._fingerprint = fingerprint

    def save(self, state: dict[str, Any]) -> None:
        """Replace the earlier state; a kill in the middle leaves the earlier one whole.

        `state` may hold tensors, numbers, strings, and lists and dictionaries of these.
        """
        with atomic_path(self.path) as temporary:
            torch.save({"fingerprint": self._fingerprint, "state": state}, temporary)

    def load(self, device: torch.device | str = "cpu") -> dict[str, Any] | None:
        """The latest state, or None when there is none for this fingerprint."""
        if not self.path.exists():
            return None
        try:
            stored = torch.load(self.path, map_location=device, weights_only=True)
            made_for, state = str(stored["fingerprint"]), dict(stored["state"])
        except Exception as error:  # torch raises many kinds for a damaged file
            logger.warning("%s cannot be read (%s): starting afresh", self.path, error)
            return None
        if made_for != self._fingerprint:
            other = "was made with other parameters, code or data"
            now = f"(fingerprint {made_for:.12}, now {self._fingerprint:.12})"
            logger.warning("%s %s %s: starting afresh", self.path, other, now)
            return None
        return state
