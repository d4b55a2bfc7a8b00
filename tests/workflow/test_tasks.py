"""Tasks that nobody foresaw, by config lines alone, and behaviour cloning alone."""

import gymnasium
import h5py
import minari_sets
import numpy as np
import pandas as pd
import pytest
import yaml
from tiny_checkout import TINY, Checkout, copy_checkout

from triptych.core.config import merged, read_config, read_yaml
from triptych.report.claims import judge
from triptych.rl.report.claims import CLAIMS
from triptych.rl.report.claims_masks import tables_of
from triptych.rl.workflow import Workflow

pytestmark = pytest.mark.slow
TASKS = ["hopper", "pendulum", "ant"]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Beside Hopper Pendulum, recorded here, and Ant from Minari."""
    pytest.importorskip("minari")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINARI_DATASETS_PATH", str(tmp_path_factory.mktemp("minari")))
        minari_sets.record()
        yield run_tasks(tmp_path_factory)


@pytest.fixture(scope="module")
def ran(checkout):
    """Its results."""
    return checkout.root / "results"


def run_tasks(tmp_path_factory):
    root = copy_checkout(tmp_path_factory.mktemp("pendulum")).root
    checkout = Checkout(root, python_path=str(root / "own"))
    (root / "own").mkdir()
    (root / "own" / "own_tasks.py").write_text("REGISTERED = ()\n")
    environment, generator = gymnasium.make("Pendulum-v1"), np.random.default_rng(0)
    rows = []
    for episode in range(3):
        seen, _ = environment.reset(seed=episode)
        for step in range(200):
            action = generator.uniform(-2, 2, 1).astype(np.float32)
            after, reward, *_ = environment.step(action)
            rows.append((seen, action, reward, False, step == 199))
            seen = after
    keys = ("observations", "actions", "rewards", "terminals", "timeouts")
    with h5py.File(checkout.root / "pendulum.hdf5", "w") as stream:
        for key, values in zip(keys, zip(*rows, strict=True), strict=True):
            stream[key] = np.array(values)
    task = {"source": "path", "path": "pendulum.hdf5", "environment": "own_tasks:Pendulum-v1"}
    ant = {"source": "minari", "dataset": minari_sets.NAME, "environment": "Ant-v5"}
    ant |= {"options": {"max_episode_steps": minari_sets.STEPS}, "reference": [-325.6, 3879.7]}
    tasks = {"pendulum": task, "ant": ant}
    alone = {"algorithms": ["BC"], "runs": {"paper": {"sparsities": [95]}, "raw": None}}
    overlay = {"rl": {"tasks": tasks, "sweeps": {"bcq": alone}, "latency": {"task": "pendulum"}}}
    (checkout.root / "mine.yaml").write_text(yaml.safe_dump(merged(TINY, overlay)))
    checkout.snakemake("rl", config="mine.yaml")
    return checkout


def test_its_scores_are_returns_in_every_table_and_in_no_mean(ran):
    for name in ("rl_scores", "rl_figure1", "rl_figure1_curves", "rl_curves"):
        units = pd.read_csv(ran / "tables" / f"{name}.csv").groupby("task")["unit"].unique()
        assert units["pendulum"].tolist() == ["return"], name
        assert units["hopper"].tolist() == ["D4RL-normalised score"], name
        assert units["ant"].tolist() == ["normalised score (own reference)"], name
    scores = pd.read_csv(ran / "tables" / "rl_scores.csv")
    assert set(scores["task"]) - {"all tasks"} == set(TASKS)
    assert (scores.loc[scores["task"] == "pendulum", "value"] < 0).all()


def test_ant_of_a_minari_data_set_is_scored_between_its_references(ran):
    scores = pd.concat([pd.read_csv(path) for path in ran.glob("rl/ant/*/*/scores.csv")])
    expected = 100 * (scores["return"] + 325.6) / (3879.7 + 325.6)
    np.testing.assert_allclose(scores["score_normalised"], expected)
    assert scores["steps"].max() <= 50
    row = pd.read_csv(ran / "rl" / "ant" / "dataset.csv").iloc[0]
    assert (row["source"], row["episodes"]) == ("minari", 4)


def test_its_inputs_are_numbered(ran):
    inputs = pd.read_csv(ran / "tables" / "rl_inputs.csv")
    names = inputs.loc[inputs["task"] == "pendulum", "name"]
    assert set(names) == {"input 1", "input 2", "input 3"}


def test_claims_do_not_count_them(checkout, ran):
    """They say the same of all as of Hopper alone."""

    def frames(tasks):
        def read(pattern):
            found = pd.concat([pd.read_csv(path) for path in sorted(ran.glob(pattern))])
            return found[found["task"].isin(tasks)].reset_index(drop=True)

        names = ("scores", "layers", "sizes")
        each = {name: read(f"rl/*/*/*/{name}.csv") for name in names}
        latency, datasets = read("rl/*/latency.csv"), read("rl/*/dataset.csv")
        return {**each, "latency": latency, "datasets": datasets}

    config = read_config(checkout.root, [checkout.root / "mine.yaml"])
    plan = Workflow(config, read_yaml(checkout.root / "resources/sources.yaml"))
    alone, every = (tables_of(frames(tasks), plan, {}) for tasks in (["hopper"], TASKS))
    assert judge(CLAIMS, plan, every) == judge(CLAIMS, plan, alone)
