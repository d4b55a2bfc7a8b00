"""The rehearsal is of the papers' scale: its rules, shapes, sizes and formats."""

import hashlib
import re
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import h5py
import pytest
import requests
import torch
import warm
import yaml
from PIL import Image
from run import PAPER, REHEARSAL, ROOT, SCALES, amounts, copy_checkout, planned_rules
from server import serving
from snakemake.utils import update_config
from sources import (
    SIZES,
    place,
    real_sources,
    stand_in,
    write_coco,
    write_d4rl,
    write_painting,
    write_weights,
)

AMOUNTS = {
    *("seeds", "updates", "every", "episodes", "last", "repeats", "evaluations", "batches"),
    *("checkpoint_every", "log_every", "held_out", "photographs", "frames", "batch", "queries"),
    *("epochs", "rampdown_epochs", "warmup_epochs", "workers", "checkpoint_minutes"),
    *("pairs", "members", "notebook"),
}
"""What rehearsal.yaml may lower, by the last part of its name."""

OTHERS = {"scale", "device", "style.contact", "audio.main", "audio.distillation.seeds"}
OTHERS |= {"audio.corpora.as_published.precision", "rl.stack"}
"""What it may set otherwise; the paper distils nothing, and so leaves a rule out, and no processor
has fp16."""

SHAPES = ("rl.widths", "rl.tasks", "rl.bcq", "style.network.", "style.backbones", "style.contents")
SHAPES += ("style.paintings", "audio.audio_models", "audio.text_models", "audio.model.")
SHAPES += ("audio.sources",)


def merged(*overlays: str) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((ROOT / "config.yaml").read_text())
    for name in overlays:
        update_config(config, yaml.safe_load((ROOT / "config" / name).read_text()))
    return config


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {path: value}
    found: dict[str, Any] = {}
    for key, below in value.items():
        found |= leaves(below, f"{path}.{key}" if path else str(key))
    return found


@pytest.mark.slow
def test_the_rehearsal_runs_the_rules_of_the_papers_scale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_checkout(tmp_path)
    python = [*warm.COMMAND, "-m", "snakemake"]
    monkeypatch.setattr("run.snakemake", lambda *arguments: [*python, *arguments])
    with ThreadPoolExecutor() as pool:
        paper = pool.submit(planned_rules, tmp_path, ["all"], PAPER)
        rehearsal = pool.submit(planned_rules, tmp_path, ["all"], PAPER, REHEARSAL)
        assert rehearsal.result() >= paper.result()
    downloads = {"rl_download", "style_download_coco", "style_download_weights"}
    assert downloads <= paper.result()


@pytest.mark.slow
def test_a_rehearsal_of_clotho_alone_runs_its_rules_and_no_other_data_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_checkout(tmp_path)
    python = [*warm.COMMAND, "-m", "snakemake"]
    monkeypatch.setattr("run.snakemake", lambda *arguments: [*python, *arguments])
    pages = ["config/clotho.yaml", "config/projection.yaml"]
    with ThreadPoolExecutor() as pool:
        true = pool.submit(planned_rules, tmp_path, ["audio"], PAPER, *pages)
        rehearsal = pool.submit(planned_rules, tmp_path, ["audio"], PAPER, REHEARSAL, *pages)
        assert rehearsal.result() == true.result() | {"audio_distill"}
    assert {"audio_unpack_clotho", "audio_pretrain", "audio_finetune"} <= true.result()
    assert not {name for name in true.result() if "wavcaps" in name or "audiocaps" in name}
    assert "audio_submit" not in true.result()


@pytest.mark.slow
def test_rehearsals_of_the_scales_between_run_their_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_checkout(tmp_path)
    python = [*warm.COMMAND, "-m", "snakemake"]
    monkeypatch.setattr("run.snakemake", lambda *arguments: [*python, *arguments])
    for scale, targets in (("evening", ["rl"]), ("overnight", ["rl", "style"])):
        rehearsed = amounts(scale, targets, tmp_path)
        true = planned_rules(tmp_path, targets, *SCALES[scale][1:])
        assert planned_rules(tmp_path, targets, *rehearsed) == true


def test_the_rehearsals_of_the_scales_between_have_their_shapes(tmp_path: Path) -> None:
    for scale, targets in (("evening", ["rl"]), ("overnight", ["rl", "style"])):
        names = [str(ROOT / name) for name in SCALES[scale][1:]]
        true = leaves(merged(*names))
        rehearsed = leaves(merged(*names, str(ROOT / amounts(scale, targets, tmp_path)[-1])))
        changed = {path for path in true if true[path] != rehearsed[path]}
        for path in (each for each in changed - OTHERS if each.split(".")[0] in targets):
            assert path.rpartition(".")[2] in AMOUNTS and not path.startswith(SHAPES), path


def test_the_rehearsal_of_clotho_has_its_shapes_and_the_rehearsals_amounts() -> None:
    pages = ("clotho.yaml", "projection.yaml")
    true = leaves(merged("paper.yaml", *pages))
    rehearsed = leaves(merged("paper.yaml", "rehearsal.yaml", *pages))
    changed = {path for path in true if true[path] != rehearsed[path] and path.startswith("audio")}
    for path in changed - OTHERS:
        assert path.rpartition(".")[2] in AMOUNTS, path
        assert not path.startswith(SHAPES), path
    assert "audio.stages.common.batch" in changed and "audio.pairs" not in changed


def test_the_rehearsal_changes_amounts_alone() -> None:
    paper, rehearsal = leaves(merged("paper.yaml")), leaves(merged("paper.yaml", "rehearsal.yaml"))
    assert rehearsal.keys() == paper.keys()
    changed = {path for path in paper if paper[path] != rehearsal[path]}
    assert changed, "the rehearsal lowers nothing"
    for path in changed - OTHERS:
        assert path.rpartition(".")[2] in AMOUNTS, path
        assert not path.startswith(SHAPES), path
        if isinstance(paper[path], list):
            assert all(each in paper[path] for each in rehearsal[path]), path
            assert 0 < len(rehearsal[path]) < len(paper[path]), path
        else:
            assert rehearsal[path] < paper[path], path


@pytest.mark.parametrize("task", sorted(SIZES))
def test_recordings_have_the_layout_of_d4rls(tmp_path: Path, task: str) -> None:
    state, action, joints = SIZES[task]
    write_d4rl(tmp_path / "expert.hdf5", state, action, joints, seed=0)
    with h5py.File(tmp_path / "expert.hdf5") as file:
        kinds = {
            key: (file[key].shape[1:], file[key].dtype.str)
            for key in set(file) - {"infos", "metadata"}
        }
        assert set(file["infos"]) == {"qpos", "qvel", "action_log_probs"}
        assert file["metadata/policy/fc0/weight"].shape == (256, state)
        ended = file["terminals"][:] | file["timeouts"][:]
        following = file["observations"][1:][~ended[:-1]]
        assert (file["next_observations"][:-1][~ended[:-1]] == following).all()
        assert file["terminals"][:].any() and file["timeouts"][:].any()
    assert kinds == {
        "observations": ((state,), "<f4"),
        "next_observations": ((state,), "<f4"),
        "actions": ((action,), "<f4"),
        "rewards": ((), "<f4"),
        "terminals": ((), "|b1"),
        "timeouts": ((), "|b1"),
    }


def test_weights_are_torchvisions_whole_file(tmp_path: Path) -> None:
    write_weights(tmp_path / "alexnet.pth", "alexnet")
    published = real_sources()["backbones"]["files"]["alexnet"]["size"]
    assert (tmp_path / "alexnet.pth").stat().st_size == pytest.approx(published, rel=1e-4)
    state = torch.load(tmp_path / "alexnet.pth", weights_only=True, mmap=True)
    assert sum(tensor.numel() for tensor in state.values()) == 61_100_840
    assert state["classifier.6.weight"].shape == (1000, 4096)


def test_photographs_come_as_in_cocos_zip(tmp_path: Path) -> None:
    write_coco(tmp_path / "train2017.zip")
    modes, broken = set(), 0
    with zipfile.ZipFile(tmp_path / "train2017.zip") as archive:
        folder, *members = archive.infolist()
        assert folder.filename == "train2017/"
        for member in members:
            assert re.fullmatch(r"train2017/\d{12}\.jpg", member.filename)
            assert member.compress_type == zipfile.ZIP_STORED
            with Image.open(archive.open(member)) as image:
                assert image.format == "JPEG"
                modes.add(image.mode)
                try:
                    image.load()
                except OSError:
                    broken += 1
    assert modes == {"RGB", "L", "CMYK"}
    assert broken == 1
    assert (
        len(members)
        > 4 + merged("paper.yaml", "rehearsal.yaml")["style"]["photographs"]["held_out"]
    )


def test_paintings_are_jpegs_of_a_reproductions_size(tmp_path: Path) -> None:
    write_painting(tmp_path / "painting.jpg", 1280, 1014, seed=0)
    with Image.open(tmp_path / "painting.jpg") as image:
        assert (image.format, image.mode, image.size) == ("JPEG", "RGB", (1280, 1014))


def test_a_stand_in_publishes_what_the_real_source_does(tmp_path: Path) -> None:
    real = {
        **{"url": "https://host.org/a/b.zip?download=1", "mirror": "https://other.org/b.zip"},
        **{"size": 9, "md5": "0" * 32, "sha256": None, "sha256_start": "0" * 8, "clips": 3},
    }
    content = b"what was made"
    place(tmp_path, real["url"]).write_bytes(content)
    where = "http://here/host.org/a/b.zip"
    assert stand_in(real, tmp_path, "http://here") == {
        **{"url": where, "mirror": where, "size": 13, "sha256": None, "clips": 3},
        "md5": hashlib.md5(content).hexdigest(),
        "sha256_start": hashlib.sha256(content).hexdigest()[:8],
    }


def test_the_server_resumes_unless_the_file_has_changed(tmp_path: Path) -> None:
    (tmp_path / "repo" / "resolve" / ("a" * 40)).mkdir(parents=True)
    file = tmp_path / "repo" / "resolve" / ("a" * 40) / "weights.bin"
    file.write_bytes(bytes(range(100)))
    with serving(tmp_path) as address:
        url = f"{address}/repo/resolve/{'a' * 40}/weights.bin"
        whole = requests.get(url, params={"download": 1}, timeout=5)
        assert whole.content == file.read_bytes()
        assert whole.headers["X-Repo-Commit"] == "a" * 40
        ask = {"Range": "bytes=40-", "If-Range": whole.headers["ETag"]}
        rest = requests.get(url, headers=ask, timeout=5)
        assert (rest.status_code, rest.content) == (206, file.read_bytes()[40:])
        assert rest.headers["Content-Range"] == "bytes 40-99/100"
        changed = requests.get(url, headers=ask | {"If-Range": '"other"'}, timeout=5)
        assert (changed.status_code, changed.content) == (200, file.read_bytes())
        assert requests.get(url, headers={"Range": "bytes=100-"}, timeout=5).status_code == 416
        assert requests.head(url, timeout=5).headers["Content-Length"] == "100"
        assert requests.get(f"{address}/../{tmp_path.name}x", timeout=5).status_code == 404
        assert requests.get(f"{address}/absent", timeout=5).status_code == 404
