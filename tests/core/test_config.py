"""A wrong configuration gets one message: the key, what was given, what is allowed."""

import copy
import math
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from triptych import planning
from triptych.core.config import (
    ConfigError,
    check_config,
    check_paths,
    check_unique_keys,
    completed,
    merged,
    read_config,
    with_types,
)

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "config" / "schema.yaml"


@pytest.fixture
def demo():
    return read_config(ROOT)


RUNS = "rl.sweeps.bcq.runs"


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("rl.training.updates", -5, "rl.training.updates is -5 (int); allowed is at least 1"),
        ("rl.training.learning_rat", 1, "rl.training has no key learning_rat; allowed are"),
        ("rl.training.schedule", "step", "'step' (str); allowed is one of constant, cosine"),
        ("rl.tasks.ant", {"source": "robot"}, "rl.tasks.ant.source is 'robot' (str); allowed is"),
        ("rl.tasks.ant", {"source": "minari"}, "rl.tasks.ant lacks dataset"),
        ("rl.widths.A b", {}, "rl.widths has the key 'A b'; allowed is a name that matches"),
        (f"{RUNS}.paper.sparsities", [50, 100], "is 100 (int); allowed is less than 100"),
        (f"{RUNS}.few", {"max_transitions": 100}, f"{RUNS}.few lacks methods, sparsities; given"),
        ("rl.widths.paper.actor", [400], "at least 2 values"),
    ],
)
def test_the_message_names_key_given_and_allowed(demo, key, value, said):
    config = copy.deepcopy(demo)
    *tables, last = key.split(".")
    place = config
    for table in tables:
        place = place[table]
    place[last] = value
    with pytest.raises(ConfigError) as refused:
        check_config(config, SCHEMA)
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_a_config_is_laid_over_the_demo_or_over_the_papers_values():
    overlay = {"rl": {"training": {"batch": 7}}}
    demo, papers = completed(overlay, ROOT), completed({"base": "papers", **overlay}, ROOT)
    assert demo["rl"]["training"]["batch"] == papers["rl"]["training"]["batch"] == 7
    assert demo["rl"]["tasks"]["hopper"] == {"source": "collected"}
    assert papers["rl"]["tasks"]["hopper"] == {"source": "d4rl"}
    assert papers["rl"]["training"]["updates"] == 1_000_000


def test_null_removes_an_entry_of_a_table_of_names_and_is_a_value_elsewhere():
    config = completed({"rl": {"tasks": {"hopper": None}}, "audio": {"leaky": None}}, ROOT)
    assert set(config["rl"]["tasks"]) == {"walker2d", "halfcheetah"}
    assert config["audio"]["leaky"] is None


def numbers(table, path=()):
    """Path of every number in a config."""
    entries = table.items() if isinstance(table, dict) else enumerate(table)
    for key, value in entries:
        if isinstance(value, dict | list):
            yield from numbers(value, (*path, key))
        elif type(value) in (int, float):
            yield (*path, key)


def test_no_number_may_be_negative(demo):
    for path in [*numbers(demo)]:
        if {"audio_models", "text_models", "parameters"} & set(path):
            continue  # encoders judge theirs, and a language model its own
        place = demo
        for key in path[:-1]:
            place = place[key]
        was, place[path[-1]] = place[path[-1]], -1
        with pytest.raises(ConfigError) as refused:
            check_config(demo, SCHEMA)
        place[path[-1]] = was
        assert str([key for key in path if isinstance(key, str)][-1]) in str(refused.value)


@pytest.mark.parametrize("value", [math.nan, math.inf, True, "7"])
def test_no_number_may_be_endless_or_of_another_type(demo, value):
    for key in ("batch", "learning_rate"):
        training = {**demo["rl"]["training"], key: value}
        with pytest.raises(ConfigError, match=f"rl.training.{key}"):
            check_config(merged(demo, {"rl": {"training": training}}), SCHEMA)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("rl: {}\nstyle: {}\nrl: {}\n", ("rl", "1", "3")),
        ("rl:\n  training:\n    batch: 4\n    batch: 5\n", ("rl.training.batch", "3", "4")),
        ("pairs:\n  - {a: 1,\n     a: 2}\n", ("pairs.a", "2", "3")),
        ('1: {}\n"1": {}\n', ("1", "1", "2")),
    ],
)
def test_a_key_that_stands_twice_is_refused_with_both_lines(tmp_path, text, named):
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(ConfigError) as error:
        check_unique_keys(tmp_path / "own.yaml")
    assert {"own.yaml:", *named} <= set(re.split(r"[ ,;]|/(?=own)", str(error.value)))


def test_a_value_that_stands_twice_in_a_list_is_named(demo):
    demo["rl"]["sweeps"]["bcq"]["runs"]["paper"]["sparsities"] = [80, 95, 90, 95]
    with pytest.raises(ConfigError, match=r"rl\.sweeps\.bcq\..*sparsities has 95 twice") as refused:
        check_config(demo, SCHEMA)
    assert "uniqueItems" not in str(refused.value)


def test_the_same_key_in_two_tables_and_an_empty_file_are_fine(tmp_path):
    for text in ("", "a: {x: 1}\nb: {x: 1}\nc: [{x: 1}, {x: 2}]\n"):
        (tmp_path / "own.yaml").write_text(text)
        check_unique_keys(tmp_path / "own.yaml")


def test_a_path_below_the_home_folder_is_found(monkeypatch):
    monkeypatch.setenv("HOME", "/home/anna")
    own = {"rl": {"tasks": {"mine": {"source": "path", "path": "~/a ~/b.hdf5"}}}}
    own["audio"] = {"words": ["~", "~anna/x", "~/c"]}
    config = completed(own, ROOT)
    assert config["rl"]["tasks"]["mine"]["path"] == "/home/anna/a ~/b.hdf5"
    assert config["audio"]["words"] == ["~", "~anna/x", "/home/anna/c"]


@pytest.mark.parametrize(
    ("own", "key"),
    [
        ({"rl": {"tasks": {"hopper": {"source": "path"}}}}, "rl.tasks.hopper.path"),
        ({"audio": {"sources": {"clotho": {"source": "path"}}}}, "audio.sources.clotho.path"),
        ({"style": {"paintings": {"waves": {"source": "path"}}}}, "style.paintings.waves.path"),
        ({"style": {"contents": {"mine": {"source": "path"}}}}, "style.contents.mine.path"),
        ({"style": {"photographs": {"source": "folder"}}}, "style.photographs.path"),
        ({"style": {"photographs": {"source": "embedded"}}}, "style.photographs.path"),
        ({"style": {"video": {"source": "path"}}}, "style.video.path"),
        ({"style": {"backbones": {"vgg": {}}}}, "style.backbones.vgg.weights"),
    ],
)
def test_a_path_at_which_there_is_nothing_is_refused_by_its_key(own, key, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    *tables, name = key.split(".")
    entry = own
    for table in tables:
        entry = entry[table]
    for value in ("results/made.hdf5", "resources/sources.yaml"):
        entry[name] = value
        check_paths(own, ROOT)
    entry[name] = "data/typo.hdf5"
    with pytest.raises(ConfigError, match=rf"config: {key} is 'data/typo\.hdf5'; expected"):
        check_paths(own, ROOT)
    check_paths(own, ROOT, is_made={"data/typo.hdf5"}.__contains__)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/typo.hdf5").write_text("")
    check_paths(own, ROOT)
    if name == "path":
        entry[name] = ""
        with pytest.raises(ConfigError, match=rf"{key} is ''"):
            check_paths(own, ROOT)
    if name == "weights":
        entry[name] = "hed"
        check_paths(own, ROOT)
        entry[name] = "vgg16.pth"
        with pytest.raises(ConfigError, match=r"weights is 'vgg16\.pth'"):
            check_paths(own, ROOT)


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"source": "path", "path": "take{1}.hdf5"}, "path"),
        ({"source": "path", "path": "folder{x}/take.mp4"}, "path"),
        ({"weights": "vgg{16}.pth"}, "weights"),
    ],
)
def test_braces_in_a_files_path_are_refused_and_in_a_folders_are_not(
    table, key, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    file = Path(table[key])
    file.parent.mkdir(exist_ok=True)
    file.touch()
    with pytest.raises(ConfigError, match=rf"style\.mine\.{key} is .*braces"):
        check_paths({"style": {"mine": table}}, ROOT)
    file.unlink()
    file.mkdir()
    check_paths({"style": {"mine": table}}, ROOT)


def test_values_of_the_command_line_have_the_types_of_a_file():
    """Snakemake reads each --config by int, by float, or as YAML whose values are all texts."""
    given = {
        "scale": "custom",
        "rl": {"tasks": {"hopper": None, "ant": {"options": {"1": "2"}}}, "a": "7"},
        "audio": {"chunk": "null", "seeds": ["0", "1"], "share": "0.5"},
    }
    arguments = [
        "rl={tasks: {ant: {options: {1: 2}}}}",
        "audio={chunk: null, seeds: [0, 1], share: 0.5}",
        "scale=custom",
        "other={",
    ]
    assert with_types(given, arguments) == {
        "scale": "custom",
        "rl": {"tasks": {"hopper": None, "ant": {"options": {"1": 2}}}, "a": "7"},
        "audio": {"chunk": None, "seeds": [0, 1], "share": 0.5},
    }


def test_results_that_snakemake_has_no_records_of_are_told(tmp_path, monkeypatch):
    """As where they were copied without .snakemake: nothing says which config they are of."""
    monkeypatch.chdir(tmp_path)
    provenance, metadata = Path("results/provenance/rl_train"), Path(".snakemake/metadata/a")
    assert planning.results_of_elsewhere(Path("results")) == ""
    for folder in (provenance, metadata):
        folder.mkdir(parents=True)
    for number in range(3):
        (provenance / f"{number}.json").touch()
    assert re.match(r"results has .* 3 jobs", planning.results_of_elsewhere(Path("results")))
    for number in range(3):
        (metadata / f"{number}").touch()
    assert planning.results_of_elsewhere(Path("results")) == ""


@pytest.mark.parametrize("name", ["results", ".snakemake"])
def test_a_link_to_a_folder_that_is_gone_is_named(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).symlink_to("gone")
    with pytest.raises(ConfigError, match=rf"^{re.escape(name)} is a link to gone"):
        planning.plan({}, ROOT, [ROOT / "Snakefile"], main=True)


def test_a_path_is_looked_at_before_anything_is_planned_unless_this_is_a_module(tmp_path):
    own = {"rl": {"tasks": {"hopper": {"source": "path", "path": str(tmp_path / "typo.hdf5")}}}}
    with pytest.raises(ConfigError, match=r"rl\.tasks\.hopper\.path is '.*typo\.hdf5'"):
        planning.plan(own, ROOT, [ROOT / "Snakefile"], main=True)
    (tmp_path / "Snakefile").write_text("")
    planning.plan(own, ROOT, [tmp_path / "Snakefile"], main=True)


ENVIRONMENT = """
import os, signal, sys
from pathlib import Path
os.getuid = lambda: 987654321
if "nohup" in sys.argv:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
from triptych.core.provenance import SOURCE
from triptych.planning import plan
plan({}, SOURCE, [SOURCE / "Snakefile"], main=True)
print(os.environ["MPLBACKEND"], os.environ["USER"], flush=True)
os.kill(os.getpid(), signal.SIGHUP)
"""


@pytest.mark.parametrize(("argument", "ended"), [("", -signal.SIGTERM), ("nohup", 0)])
def test_jobs_begin_with_a_backend_a_user_and_an_end_with_the_terminal(tmp_path, argument, ended):
    """spinalcordtoolbox#4523, pytorch#140765, borg#1593"""
    notebook = {"MPLBACKEND": "module://matplotlib_inline.backend_inline", "PATH": os.defpath}
    done = subprocess.run(
        [sys.executable, "-c", ENVIRONMENT, argument],
        cwd=tmp_path,
        env={**notebook, "PYTHONPATH": str(ROOT / "workflow_scripts")},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert done.stdout == "agg 987654321\n" and done.returncode == ended


def test_a_checkout_that_no_pythonpath_can_name_is_refused_while_rules_are_read(monkeypatch):
    monkeypatch.setattr(planning, "LIBRARY", Path("/srv/a:b/workflow_scripts"))
    with pytest.raises(ConfigError, match="/srv/a:b/workflow_scripts"):
        planning.plan({}, ROOT, [ROOT / "Snakefile"], main=True)
