"""What a run made is in its manifest, and `triptych verify` finds all that differs from it."""

import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from triptych import cli
from triptych.core.errors import InputError
from triptych.report.manifest import digest, read_records, verify, write_manifest

WANTED = ["results/report.html", "results/tables/scores.csv"]
FAULTS = 5  # of each kind


def job(rule, inputs, outputs, **more):
    record = {"rule": rule, "inputs": inputs, "outputs": outputs, "attempts": [1.5]}
    path = Path("results/provenance", rule, f"{rule}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**record, **more}))


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A finished run: a source, a folder of shards, a table from it, a page; and one job beside."""
    monkeypatch.chdir(tmp_path)
    noise = random.Random(0)
    for name in ("resources/data.bin", "results/shards/a.bin", "results/shards/b/c.bin"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(noise.randbytes(500))
    Path("results/tables").mkdir()
    Path("results/tables/scores.csv").write_text("method,value,scale\nsnip,1.0,demo\n")
    Path("results/report.html").write_text("<p>1.0</p>")
    job("shard", ["resources/data.bin"], ["results/shards"])
    job("score", ["results/shards/b/c.bin"], ["results/tables/scores.csv"])
    job("page", ["results/tables/scores.csv"], ["results/report.html"])
    records = read_records("results/provenance")
    write_manifest("results/manifest.json", records, WANTED, {"scale": "demo"}, "demo")
    return tmp_path


def problems():
    return verify("results/manifest.json", "results/provenance")


def test_a_run_as_it_was_left_has_no_problems(run, capsys):
    assert problems() == []
    assert cli.main(["verify"]) == 0
    assert "4 files of 3 jobs, scale demo, commit no commit: all as it was made" in (
        capsys.readouterr().out
    )


def test_touching_copying_and_other_commands_products_change_nothing(run):
    for file in run.rglob("*.csv"):
        os.utime(file, (1, 1))
    Path("results/bench").mkdir()
    Path("results/bench/rl.csv").touch()
    shutil.copytree(run, run.parent / "copy")
    os.chdir(run.parent / "copy")
    assert problems() == []


def flip(noise):
    files = ["resources/data.bin", "results/shards/b/c.bin", "results/report.html"]
    file = Path(noise.choice([*files, *map(str, Path("results/provenance").rglob("*.json"))]))
    content = bytearray(file.read_bytes())
    content[noise.randrange(len(content))] ^= 1 << noise.randrange(8)
    file.write_bytes(content)
    return str(file)


def delete(noise):
    file = noise.choice([*Path("results").rglob("*.json"), *Path("results").rglob("*.bin")])
    if file.name == "manifest.json":
        file = Path("results/report.html")
    file.unlink()
    recorded = "provenance" in file.parts
    return f"{file}: this record is gone" if recorded else f"--cores 8 {file} makes it again"


def stale(noise):
    name = f"rule{noise.randrange(1000)}"
    job(name, [], [f"results/{name}"])
    return f"results/provenance/{name}/{name}.json"


def edit(noise):
    file = Path("results/tables/scores.csv")
    file.write_text(file.read_text().replace("1.0", f"{noise.uniform(2, 9):.2f}"))
    return str(file)


@pytest.mark.parametrize("fault", [flip, delete, stale, edit])
@pytest.mark.parametrize("number", range(FAULTS))
def test_every_fault_is_found_by_name(run, fault, number):
    named = fault(random.Random(f"{os.environ['TRIPTYCH_SEED']} {number}"))
    assert any(named in problem for problem in problems()), problems()
    assert cli.main(["verify"]) == 1


def test_an_edited_manifest_a_left_table_and_a_missing_manifest_are_said(run):
    Path("results/tables/old.csv").touch()
    assert problems() == ["results/tables/old.csv: no job of this run made it"]
    manifest = Path("results/manifest.json")
    manifest.write_text(manifest.read_text().replace("1.5", "1.0"))
    with pytest.raises(InputError, match=r"manifest\.json was edited: its own hash differs"):
        problems()
    whole = json.loads(manifest.read_text())
    others = [
        {key: value for key, value in whole.items() if key != "jobs"},
        {**whole, "jobs": {"rl": {}}},
        {**whole, "outputs": {"a.csv": 7}},
        {**whole, "sources": ["a.csv"]},
    ]
    signed = [json.dumps({**other, "sha256": digest(other)}).encode() for other in others]
    for text in (b"", b"\xff", b"[]", b"{}", b'"text"', b"[" * 100_000, *signed):
        manifest.write_bytes(text)
        with pytest.raises(InputError, match=r"manifest\.json: not a manifest"):
            problems()
    manifest.unlink()
    os.mkfifo(manifest)
    with pytest.raises(InputError, match=r"manifest\.json: no such file"):
        problems()


def git(*arguments):
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    command = ["git", *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def written():
    write_manifest("results/manifest.json", read_records("results/provenance"), WANTED, {}, "")
    return json.loads(Path("results/manifest.json").read_text())


@pytest.fixture
def commit(run):
    """The commit of a checkout in which a run is made."""
    git("init")
    Path(".gitignore").write_text("results\n")
    git("add", "-A")
    git("commit", "-m", "one")
    return git("rev-parse", "HEAD")


def test_the_commit_and_whether_it_was_clean_are_told(commit):
    assert written()["clean"] and len(written()["commit"]) == 40
    Path("resources/data.bin").write_bytes(b"")
    assert not written()["clean"]


def test_the_commit_is_the_checkouts_whatever_repository_a_hook_runs_for(commit, monkeypatch):
    """Vundle#807: git sets GIT_DIR and GIT_INDEX_FILE for hooks and `rebase --exec`."""
    git("init", "other")
    git("-C", "other", "commit", "--allow-empty", "-m", "two")
    Path(".git/info/exclude").write_text("other\n")
    monkeypatch.setenv("GIT_DIR", str(Path("other/.git").resolve()))
    monkeypatch.setenv("GIT_INDEX_FILE", str(Path("other/.git/index").resolve()))
    assert (written()["commit"], written()["clean"]) == (commit, True)


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_the_commit_of_another_users_checkout_is_told(commit):
    for path in [Path(), *Path().rglob("*")]:
        os.chown(path, 1234, 1234)
    assert (written()["commit"], written()["clean"]) == (commit, True)


def test_where_no_commit_is_known_the_manifest_says_why(run, commit, tmp_path, monkeypatch):
    Path(".git/HEAD").write_text("damaged")
    damaged = written()
    shutil.rmtree(".git")
    none = written()
    git("init", "..")
    inside = written()
    monkeypatch.setenv("PATH", str(tmp_path))
    without = written()
    assert {record["commit"] for record in (damaged, none, inside, without)} == {None}
    reasons = [record["why_no_commit"] for record in (damaged, none, inside, without)]
    assert len({*reasons}) >= 3 and "no program git" in reasons[3] and "checkout" in reasons[2]


def test_of_two_records_of_a_file_the_later_counts(run):
    """A rule was renamed, and its old record lies there still."""
    job("a_score", ["results/shards/b/c.bin"], ["results/tables/scores.csv"])
    write_manifest("results/manifest.json", read_records("results/provenance"), WANTED, {}, "")
    jobs = json.loads(Path("results/manifest.json").read_text())["jobs"]
    assert {name.split("/")[2] for name in jobs} == {"shard", "a_score", "page"}
