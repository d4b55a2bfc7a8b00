"""Resumable state of a long job, under results/checkpoints/: Snakemake deletes outputs.

A checkpoint of other parameters, data or code is never deleted: it is moved to a folder aside-1,
and the job starts from the beginning. With `resume: any_code` in the config the job goes on from
a checkpoint of other code, and its provenance names the modules that changed.
"""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from triptych.core.files import atomic_path, set_aside
from triptych.core.job import ATTEMPTS
from triptych.core.provenance import RESUME, Fingerprint

INFRASTRUCTURE = True

logger = logging.getLogger(__name__)

_mixed: dict[str, list[str]] = {}


def modules_changed_between() -> dict[str, list[str]]:
    """Modules that changed since the first step of the trainings that this process resumed, by the
    path of the checkpoint; for provenance."""
    return dict(_mixed)


class Checkpoint:
    """One job's state on disk, as `folder`/state.pt.

    fingerprint: what determines the job's result; or one digest of it all.
    """

    def __init__(self, folder: str | os.PathLike[str], fingerprint: Fingerprint | str) -> None:
        self.path = Path(folder) / "state.pt"
        if isinstance(fingerprint, str):
            fingerprint = Fingerprint({"settings": fingerprint})
        self._fingerprint = fingerprint
        self._changed: set[str] = set()  # modules, since the first step

    def save(self, state: dict[str, Any]) -> None:
        """Replace the earlier state; a kill in the middle leaves the earlier one whole.

        `state` may hold tensors, numbers, strings, and lists and dictionaries of these.
        """
        stored = {
            "values": dict(self._fingerprint.values),
            "code": dict(self._fingerprint.code),
            "changed": sorted(self._changed),
            "attempts": ATTEMPTS.seconds,
            "state": state,
        }
        with atomic_path(self.path) as temporary:
            torch.save(stored, temporary)

    def load(self, device: torch.device | str = "cpu") -> dict[str, Any] | None:
        """The latest state, or None where there is none to go on from."""
        if not self.path.exists():
            return None
        try:
            stored = torch.load(self.path, map_location=device, weights_only=True)
            values, code = dict(stored["values"]), dict(stored["code"])
            state, changed = dict(stored["state"]), set(stored["changed"])
            attempts = [*stored.get("attempts", ())]  # none in those of earlier versions
        except Exception as error:  # torch raises many kinds for a damaged file
            self._set_aside(f"cannot be read ({error})")
            return None
        other_values = _differing(values, self._fingerprint.values)
        if other_values:
            self._set_aside(f"was made with other {', '.join(other_values)}")
            return None
        modules = _differing(code, self._fingerprint.code)
        reason = f"was made by other code: {', '.join(modules)} changed"
        if modules and os.environ.get(RESUME) != "any_code":
            self._set_aside(f"{reason}. `--config resume=any_code` goes on from it")
            return None
        if modules:
            logger.warning("%s %s. The job goes on from it", self.path, reason)
        ATTEMPTS.resume(attempts)
        self._changed = changed | set(modules)
        if self._changed:
            _mixed[str(self.path)] = sorted(self._changed)
        return state

    def _set_aside(self, why: str) -> None:
        """Move the state, and files that the training keeps beside it, out of the way."""
        folder = self.path.parent
        files = [path for path in folder.iterdir() if path.is_file() and path.suffix != ".log"]
        aside = set_aside(folder, files)
        logger.warning(
            "%s %s. It is kept in %s; starting from the beginning", self.path, why, aside
        )


def _differing(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The names whose digests differ, or that stand on one side alone."""
    return sorted(n for n in {*before, *now} if before.get(n) != now.get(n))
