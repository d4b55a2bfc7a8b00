"""What lint makes of the advisories' answers."""

import json
import runpy
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

AUDIT = Path(__file__).parents[2] / "envs" / "audit.py"
SOUND = {"name": "numpy", "version": "2.0", "vulns": []}
SKIPPED = {"name": "torch", "version": "2.0", "skip_reason": "not found"}
VULNERABLE = {
    "name": "requests",
    "version": "2.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"], "aliases": []}],
}


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (json.dumps({"dependencies": [SOUND, SKIPPED]}), 0, "1 of 2 packages audited"),
        (
            json.dumps({"dependencies": [SOUND, VULNERABLE]}),
            1,
            "requests 2.0: PYSEC-1, mended in 2.1",
        ),
        ("", 0, "nothing was audited: no network"),
    ],
)
def test_only_a_vulnerable_package_fails_the_audit(answer, code, said, monkeypatch, capsys):
    done = SimpleNamespace(stdout=answer, stderr="no network")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    assert runpy.run_path(str(AUDIT))["main"]() == code
    assert said in capsys.readouterr().out
