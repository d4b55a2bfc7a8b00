"""The table of exported policies has the bytes of the files, and the scores of their weights."""

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
import torch
from other_algorithms import TD3_BC

from triptych.rl import deployed
from triptych.rl.algorithms.registry import ALGORITHMS, Bc, Bcq, Widths
from triptych.rl.evaluation import EvaluationSettings, evaluate
from triptych.rl.exporting import export, what_acts
from triptych.rl.inference import ActingSettings
from triptych.rl.networks import initialise, torch_layout
from triptych.rl.storage import dense_bytes, unpack
from triptych.rl.stored_policy import StoredPolicy
from triptych.rl.tasks import task_named

SETTINGS = ActingSettings(candidates=3, phi=0.05)
EVALUATION = EvaluationSettings(episodes=2, candidates=3, seed=5, task=task_named("hopper"))
READERS = ["onnxruntime", "policy.py", "policy.c"]


def policies(algorithm: str) -> list[StoredPolicy]:
    """A dense policy of Hopper's sizes, and it with a fifth of its weights."""
    generator = np.random.default_rng(0)
    fresh = initialise(Widths((20, 16), (20, 16), 24), 11, 3, [0], ALGORITHMS[algorithm])
    dense = torch_layout({name: value[0].numpy() for name, value in fresh.items()})
    pruned = {
        name: array * (generator.random(array.shape) < 0.2).astype("f4")
        if array.ndim == 2
        else array
        for name, array in dense.items()
    }
    settings = asdict(SETTINGS) | {"algorithm": algorithm}
    return [
        StoredPolicy(
            arrays,
            {"task": "hopper", "method": method, "sparsity_percent": sparsity, "seed": 4},
            settings,
        )
        for arrays, method, sparsity in ((dense, "dense", 0), (pruned, "snip", 80))
    ]


def table_of(algorithm: str) -> pd.DataFrame:
    observations = np.random.default_rng(1).standard_normal((30, 11), dtype="f4")
    return deployed.deployed_table(policies(algorithm), observations, EVALUATION, repeats=2)


@pytest.mark.parametrize("algorithm", ["BC", "BCQ", "TD3+BC"])
def test_bytes_are_the_files_and_scores_those_of_what_the_files_hold(tmp_path, algorithm):
    table, bcq = table_of(algorithm), Bcq(discount=0.99, phi=0.05, lmbda=0.75, target_samples=2)
    acts = {"BC": Bc(**vars(bcq)), "BCQ": bcq, "TD3+BC": TD3_BC}[algorithm]
    keys = ["method", "values", "reader"]
    assert not table.duplicated(keys).any() and len(table) == 2 * (2 * 3 + 1)
    assert set(table["candidates"]) == {3 if algorithm == "BCQ" else 1}
    for policy in policies(algorithm):
        arrays = what_acts(policy.arrays, algorithm)
        own = table[table["method"] == policy.row["method"]].set_index(["values", "reader"])
        assert own.at[("fp32", "torch"), "bytes"] == dense_bytes(arrays)
        about = {"row": policy.row, "settings": policy.settings}
        for values in ("fp32", "int8"):
            path = tmp_path / f"{policy.row['method']}-{values}.tpk"
            export(path, arrays, about, SETTINGS, algorithm, values)
            sizes = [path.with_suffix(".onnx").stat().st_size, *[path.stat().st_size] * 2]
            assert own.loc[values].loc[READERS, "bytes"].tolist() == sizes
            parameters = {
                name: torch.from_numpy(np.atleast_2d(array.T)[None])
                for name, array in unpack(path).arrays.items()
            }
            scored = evaluate(acts, parameters, [4], EVALUATION)
            for column in ("return", "score_normalised"):
                expected = pytest.approx(scored[column].mean(), rel=1e-6)
                assert all(each == expected for each in own.loc[values][column])
    timed = table[table["reader"] != "policy.c"]
    assert (timed["microseconds_minimum"] > 0).all() and (timed["repeats"] == 2).all()
    assert (timed["maximum_difference"] < 1e-6).all()


def test_without_a_c_compiler_its_reader_has_bytes_and_no_time(monkeypatch):
    monkeypatch.setattr(deployed.shutil, "which", lambda name: None)
    table = table_of("BC").set_index("reader")
    assert (
        table.loc["policy.c", ["microseconds_median", "maximum_difference"]].isna().all(axis=None)
    )
    assert table.at["policy.c", "bytes"].tolist() == table.at["policy.py", "bytes"].tolist()
    assert table.loc["policy.py", "microseconds_median"].notna().all()


def test_another_act_is_seen(monkeypatch):
    """A reader that acts otherwise stands in the table with how far it is off."""
    original = deployed._python

    def wrong(path, inputs, method):
        way = original(path, inputs, method)
        actions = lambda result: result + np.float32(0.01)  # noqa: E731
        return deployed._Way(way.file, way.reader, way.bytes, way.calls, actions)

    monkeypatch.setattr(deployed, "_python", wrong)
    for algorithm in ("BC", "BCQ"):
        table = table_of(algorithm).set_index("reader")
        assert (table.loc["policy.py", "maximum_difference"] > 1e-3).all()
        assert (table.loc["onnxruntime", "maximum_difference"] < 1e-6).all()
