"""`triptych index --model NAME`: finished models from a server here, fetched once and searched."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest
import tiny_corpus
import yaml

pytest.importorskip("transformers")

from download_server import Behaviour, serving
from hub_site import REVISION, hub_site
from small_sounds import write_sound
from stand_in import Named, run
from theirs import lightning_file, made, make_small

from triptych.apps.sounds.search import trained
from triptych.apps.sounds.search.embedder import Embedder
from triptych.apps.sounds.search.trained import FINISHED
from triptych.audio.data.shards import ClipStore
from triptych.audio.embedding_files import read_embeddings
from triptych.audio.workflow import Workflow
from triptych.cli import main
from triptych.core.config import ConfigError

CAPTIONS = ["a low tone hums", "a high tone whistles"]
TEXT = {"text": {"repository": "some/roberta", "revision": REVISION}}
KEPT = ["model.json", "model.safetensors", "tokenizer.json"]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for the checkout; the working directory has a folder of sounds."""
    here = tmp_path / "checkout"
    (here / "resources").mkdir(parents=True)
    monkeypatch.setattr(trained, "CHECKOUT", here)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    make_small(monkeypatch, tmp_path / "text", CAPTIONS)
    write_sound(tmp_path / "sounds" / "low.wav", "low")
    write_sound(tmp_path / "sounds" / "high.wav", "high")
    return here


def files(kind: str, parts: int) -> dict[str, bytes]:
    """A checkpoint of that kind in so many pieces, and what the hub has of its text model."""
    lightning_file(made(kind, Path("text")), Path("a.ckpt"), {})
    content = Path("a.ckpt").read_bytes()
    size = -(-len(content) // parts)
    pieces = [content[start : start + size] for start in range(0, len(content), size)]
    text = {name: Path("text", name).read_bytes() for name in ("config.json", "tokenizer.json")}
    return {f"/{n}.ckpt": piece for n, piece in enumerate(pieces, 1)} | hub_site(
        "models", "some/roberta", text
    )


def listed(
    checkout: Path, address: str, kind: str, parts: int = 1, name: str = "one", **known: Any
) -> None:
    """What the checkout says of where the model comes from."""
    source = {
        **{key: f"its {key}" for key in ("label", "homepage", "citation", "licence", "room")},
        "layout": kind,
        "text": "text",
        "parts": [
            {"url": f"{address}/{n}.ckpt", "size": None, "sha256": None, **known}
            for n in range(1, parts + 1)
        ],
    }
    audio = {"finished": {"files": {name: source}}, "text_models": {"files": TEXT}}
    (checkout / "resources/sources.yaml").write_text(yaml.safe_dump({"audio": audio}))


def indexed(name: str) -> int:
    return main(["index", "sounds", "--device", "cpu", "--model", name])


def test_the_first_model_is_fetched_once_converted_and_searched(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    behaviour = Behaviour(files=files("dcase2025", 1))
    with serving(behaviour) as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        listed(checkout, address, "dcase2025")
        assert indexed("published") == 0
        told = capsys.readouterr()
        assert "2 files in 2 segments" in told.out
        asked = len(behaviour.requests)
        assert main(["search", "hum", "--index", "sounds", "--model", "one", "--json"]) == 0
        assert indexed("published") == 0
        assert len(behaviour.requests) == asked
    # The licence stands before the answer.
    assert told.err.startswith("its label (its homepage; its citation)\nlicence: its licence\n")
    assert f"fetched once from {address}/1.ckpt" in told.err
    found = json.loads(capsys.readouterr().out.partition("]")[0] + "]")
    assert {Path(each["file"]).name for each in found} == {"low.wav", "high.wav"}
    assert sorted(path.name for path in (checkout / FINISHED / "one").iterdir()) == KEPT
    assert [path.name for path in (checkout / FINISHED).iterdir()] == ["one"]
    about = json.loads((checkout / FINISHED / "one/model.json").read_text())["about"]
    assert about["licence"] == "its licence"


def test_other_bytes_than_came_first_are_refused(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Behaviour(files=files("dcase2025", 1))) as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        listed(checkout, address, "dcase2025")
        lock = checkout / "resources/locks/finished-one-1.json"
        lock.parent.mkdir()
        lock.write_text(json.dumps({"size": None, "sha256": "0" * 64}))
        assert indexed("one") == 2
    said = capsys.readouterr().err
    assert f"expected sha256 {'0' * 64}, found" in said and "Traceback" not in said
    assert not (checkout / FINISHED / "one").exists()


def test_a_file_that_is_no_such_model_is_neither_kept_nor_pinned(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = files("salsa", 2)
    behaviour = Behaviour(files=right | {"/2.ckpt": b"<html>Not today</html>"})
    with serving(behaviour) as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        listed(checkout, address, "salsa", parts=2)
        assert indexed("one") == 2
        assert "cannot be read as plain weights" in capsys.readouterr().err
        assert not (checkout / "resources/locks").exists()
        behaviour.files = right
        assert indexed("one") == 0
    assert sorted(path.name for path in (checkout / FINISHED / "one").iterdir()) == KEPT


def test_without_a_connection_it_says_what_can_be_done(
    checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with socket.socket() as closed:  # bound, and nobody listens
        closed.bind(("127.0.0.1", 0))
        listed(checkout, f"http://127.0.0.1:{closed.getsockname()[1]}", "dcase2025")
        assert indexed("one") == 2
    said = capsys.readouterr().err
    assert "--model one: it cannot be fetched" in said and "licence: its licence" in said
    assert "On a machine with a connection" in said and "Traceback" not in said
    assert not Path("sounds/triptych-index.npz").exists()


def test_the_rules_fetch_a_model_and_embed_what_it_is_scored_by(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_corpus.write(Path("corpus"))
    folder = FINISHED / "one"
    with serving(Behaviour(files=files("salsa", 2))) as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        listed(checkout, address, "salsa", parts=2)
        said = yaml.safe_load((checkout / "resources/sources.yaml").read_text())["audio"]
        run(
            "audio_finished_model",
            {},
            Named(str(folder)),
            source=said["finished"]["files"]["one"],
            text_models=said["text_models"]["files"],
            lock="locks/finished-one",
        )
    assert sorted(path.name for path in Path("locks").iterdir()) == [
        "finished-one-1.json",
        "finished-one-2.json",
    ]
    log = Path("results/logs/audio_finished_model/log.log").read_text()
    assert log.index("licence: its licence") < log.index("recorded size and checksum")
    given = {"model": str(folder), "manifest": "corpus/manifest.csv"}
    given |= {"captions": ["corpus/captions.csv"], "shards": ["corpus/shards"]}
    target = "results/audio/embeddings/one/embeddings.npz"
    run("audio_embed_finished", given, Named(target), longest_seconds=30, device="cpu")
    splits = read_embeddings(target)
    assert set(splits) == {"validation", "evaluation"}
    embedder, split = Embedder(folder, "cpu"), splits["evaluation"]
    assert split.audio.shape == (3, 40) and split.text.shape == (6, 40)
    assert split.text[0] == pytest.approx(embedder.text(split.captions[0]), abs=1e-5)
    store = ClipStore(["corpus/shards"])
    for clip, row in zip(split.clips, split.audio, strict=True):
        assert row == pytest.approx(embedder.sounds([store.read(clip)])[0], abs=1e-5)


def test_a_finished_model_that_nothing_is_known_of_is_refused_by_key(
    paper_config: dict[str, Any], sources: dict[str, Any]
) -> None:
    def rows(names: list[str]) -> list[dict[str, Any]]:
        audio = {**paper_config["audio"], "finished": names}
        return Workflow({**paper_config, "audio": audio}, sources).finished

    folders = [row["folder"] for row in rows(["salsa", "clap"])]
    assert folders == [f"results/audio/embeddings/{name}" for name in ("salsa", "clap")]
    with pytest.raises(ConfigError, match=r"audio.finished names 'other'; allowed are dcase2025"):
        rows(["other"])
