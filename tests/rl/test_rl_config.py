"""What a config may say of tasks and prunings; what can't be made is refused by its key."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from triptych.core.config import ConfigError, check_config, merged, read_config
from triptych.rl.tasks.config import check_tasks, d4rl_file, data_source
from triptych.rl.workflow import Workflow

ROOT = Path(__file__).resolve().parents[2]
FILES = {"hopper_expert-v2", "hopper_medium_replay-v2", "ant_medium-v2"}
REPLAY = {"source": "d4rl", "quality": "medium-replay"}
ITERATED = {"iterated": {"iterations": 3, "snip_batch": 7}}


def workflow(overlay):
    config = merged(read_config(ROOT), {"rl": overlay})
    check_config(config, ROOT / "config" / "schema.yaml")
    return Workflow(config, yaml.safe_load((ROOT / "resources" / "sources.yaml").read_text()))


def varied(variants, name, methods=("snip",)):
    part = {"pruning": name, "methods": list(methods), "sparsities": [95]}
    sweeps = {"bc": {"runs": {"varied": part}}}
    return {"pruning": {"variants": variants}, "sweeps": sweeps}


def measured(**values):
    return {"mask_statistics": {"runs": {"paper": values}}}


@pytest.mark.parametrize(
    ("overlay", "said"),
    [
        (varied({}, "other"), "rl.sweeps.bc.runs.varied.pruning is 'other'; allowed is default"),
        (varied(ITERATED, "iterated", ["snip", "erk"]), "changes nothing for erk"),
        (
            {"pruning": {"variants": ITERATED}} | measured(pruning="iterated"),
            "rl.mask_statistics.runs make no mask of 95% (rl.shown_sparsity)",
        ),
        ({"latency": {"task": "ant"}}, "not in rl.tasks; write rl: {latency: {task: hopper}}"),
        (measured(max_transitions=100), "rl.mask_statistics.runs.paper has max_transitions"),
    ],
)
def test_runs_that_cannot_be_made_are_refused(overlay, said):
    with pytest.raises(ConfigError, match=re.escape(said)):
        workflow(overlay)


def test_a_task_is_recorded_with_its_own_noise_or_with_that_of_all():
    tasks = {task: {"source": "collected"} for task in ("hopper", "walker2d")}
    tasks["halfcheetah"] = {"source": "collected", "noise": 0.3}
    of = workflow({"tasks": tasks, "collect": {"noise": 0.01, "transitions": 5000}})
    recorded = {task: of.collect(SimpleNamespace(task=task)) for task in of.tasks}
    assert {task: settings["noise"] for task, settings in recorded.items()} == {
        **{"hopper": 0.01, "walker2d": 0.01},
        "halfcheetah": 0.3,
    }
    assert {settings["transitions"] for settings in recorded.values()} == {5000}


def test_a_share_in_place_of_a_percentage_is_refused():
    with pytest.raises(ConfigError, match=r"shown_sparsity is 0\.95 .*at least 1"):
        workflow({"shown_sparsity": 0.95})


def test_a_variant_prunes_with_its_own_settings():
    of = workflow(varied(ITERATED, "iterated"))
    pruning = of.pruning(SimpleNamespace(task="hopper", stack="bc-varied"))
    assert pruning.keys() == {"iterated"}  # the dense runs stand in another list
    assert [pruning["iterated"][key] for key in ("snip_batch", "iterations")] == [7, 3]
    assert list(of.variants) == ["iterated"]


def test_two_qualities_of_a_task_stand_in_one_config():
    other = {**REPLAY, "environment": "Hopper-v4"}
    tables = {"hopper": {"source": "d4rl"}, "replayed": other}
    files = [d4rl_file(name, table) for name, table in tables.items()]
    assert files == ["hopper_expert-v2", "hopper_medium_replay-v2"]
    assert [data_source(table) for table in tables.values()] == ["d4rl", "d4rl medium-replay"]
    check_tasks(tables, FILES)


@pytest.mark.parametrize(
    ("name", "table", "message"),
    [
        ("hopper", {"source": "d4rl", "quality": "best"}, "hopper_best-v2; D4RL's files are ant_"),
        ("hopper", {"source": "collected", "quality": "expert"}, "quality belongs to source d4rl"),
        ("hopper", {"source": "d4rl", "noise": 0.1}, "noise belongs to source collected"),
        ("hopper", {"source": "path", "path": "a", "dataset": "b"}, "dataset belongs to source m"),
        ("ant", {"source": "collected", "environment": "Ant-v5"}, "hopper, walker2d, halfcheetah"),
        (
            "ant",
            {"source": "path", "path": "a", "environment": "Ant-v5", "reference": [3, 3]},
            r"reference is \[3, 3\]",
        ),
        ("ant", {"source": "path", "path": "a"}, "has no environment"),
        ("hopper", {"source": "path", "path": "a", "environment": "Ant-v5"}, "another name"),
    ],
)
def test_what_does_not_go_together_is_refused_by_name(name, table, message):
    with pytest.raises(ConfigError, match=rf"rl\.tasks\.{name}.*{message}"):
        check_tasks({name: table}, FILES)
