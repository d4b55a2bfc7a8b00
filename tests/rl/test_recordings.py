"""Recordings that agree neither with themselves nor with their environment, and how one says so."""

import gzip
import logging
import pickle
import re

import gymnasium
import h5py
import numpy as np
import pytest
import recorded_files
from gymnasium.spaces import Box

from triptych.core.errors import InputError
from triptych.rl.tasks.environments import try_environment
from triptych.rl.tasks.preparing import prepare
from triptych.rl.tasks.recording import read_recording
from triptych.rl.tasks.task import task_from
from triptych.rl.tasks.transitions import DatasetError


def warnings_of(caplog):
    """The texts of warnings and worse: another test may have asked for more."""
    return [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]


KEYS = ("observations", "actions", "rewards", "terminals", "timeouts")


class Drift(gymnasium.Env):
    """A point that drifts, with bounds of +-2; what is unusual of it stands in its options."""

    made = 0

    def __init__(self, length=50, kind="", end="terminated"):
        Drift.made += 1
        if kind == "one instance" and Drift.made > 1:
            raise RuntimeError("the simulator is in use")
        dtype = np.float64 if kind == "clock" else np.float32
        self.action_space = Box(-2, 2, (1,), np.float32)
        self.observation_space = Box(-np.inf, np.inf, (3,), dtype)
        self.length, self.kind, self.end = length, kind, end

    def close(self):
        Drift.made -= 1

    def reset(self, *, seed=None, options=None):
        if self.kind == "32 bits":
            np.int32(0) + np.array([seed]).astype(np.int32, casting="safe")
        super().reset(seed=seed)
        if self.kind == "global":
            np.random.seed(seed)
        self.steps, self.state = 0, self.np_random.normal(size=3)
        return self.shown(), {}

    def shown(self):
        clock = [0, 0, 1.7e9 + 0.02 * self.steps] if self.kind == "clock" else np.zeros(3)
        return (self.state + clock).astype(self.observation_space.dtype)

    def step(self, action):
        noise = {
            "global": lambda: np.random.normal(size=3),
            "unseeded": lambda: np.random.default_rng().normal(size=3),
        }.get(self.kind, lambda: self.np_random.normal(size=3))()
        self.state = 0.95 * self.state + 0.1 * noise
        self.steps += 1
        over = self.steps == self.length
        ends = over and self.end == "terminated", over and self.end == "truncated"
        return self.shown(), float(-abs(action[0])), *ends, {}


gymnasium.register("Drift-v0", Drift)
gymnasium.register("LimitedDrift-v0", Drift, max_episode_steps=50)


def task(name="Drift-v0", **options):
    return task_from("mine", name, options=options)


def recorded(episodes=40, length=50, **options):
    """Columns of a recording by gymnasium alone, float64 where the environment's are."""
    environment, rows = gymnasium.make("Drift-v0", length=length, **options), []
    generator = np.random.default_rng(0)
    for episode in range(episodes):
        seen, _ = environment.reset(seed=episode)
        ended = False
        while not ended:
            action = generator.uniform(-1.9, 1.9, 1).astype("f4")
            after, reward, *ends, _ = environment.step(action)
            rows.append((seen, action, np.float32(reward), *ends, after))
            seen, ended = after, any(ends)
    environment.close()
    return dict(
        zip((*KEYS, "next_observations"), map(np.array, zip(*rows, strict=True)), strict=True)
    )


def prepared(folder, columns, own=None, accepted=()):
    """The transitions of a file of these columns."""
    path = recorded_files.written(folder / "mine.hdf5", columns)
    return recorded_files.prepared(path, own or task(), accepted=accepted)


def without_next(columns):
    return {key: columns[key] for key in KEYS}


def changed(change, columns=None):
    """Every column after a change of its rows."""
    columns = without_next(recorded()) if columns is None else columns
    return {key: change(value) for key, value in columns.items()}


def padded(rows):
    """A buffer of a third more rows."""
    return np.concatenate([rows, np.zeros((len(rows) // 3, *rows.shape[1:]), rows.dtype)])


def held(rows):
    return np.concatenate([rows, np.repeat(rows[-1:], 300, 0)])


def each_padded(rows):
    """Each episode of 50 steps in a block of 80."""
    blocks = rows.reshape(-1, 50, *rows.shape[1:])
    fill = np.zeros((len(blocks), 30, *rows.shape[1:]), rows.dtype)
    return np.concatenate([blocks, fill], 1).reshape(-1, *rows.shape[1:])


def in_turn(count):
    def change(rows):
        blocks = rows.reshape(count, -1, *rows.shape[1:])
        return blocks.swapaxes(0, 1).reshape(rows.shape)

    return change


ROW = {
    "zeros at the end": (padded, "equal_rows", "rows that steps were written to.*from row 2000"),
    "copies at the end": (held, "equal_rows", "equal rows, the longest of 301"),
    "zeros after each episode": (each_padded, "equal_rows", "1200 in runs of equal rows"),
    **{
        f"{count} environments in turn": (in_turn(count), "order", "several environments in turn")
        for count in (2, 4, 8, 40)
    },
}


@pytest.mark.parametrize("kind", ROW)
def test_rows_that_no_step_wrote_or_out_of_order_are_refused_unless_accepted(
    tmp_path, kind, caplog
):
    change, check, message = ROW[kind]
    with pytest.raises(DatasetError, match=rf"observations: .*{message}.*accept: \[{check}\]"):
        prepared(tmp_path, changed(change))
    assert len(prepared(tmp_path, changed(change), accepted=[check, "order"]).rewards)
    assert "used as it is" in caplog.text


@pytest.mark.parametrize("length", [20, 50, 200])
def test_a_recording_in_order_is_read_without_a_word(tmp_path, length, caplog):
    made = without_next(recorded(2000 // length, length))
    assert len(prepared(tmp_path, made, task(length=length)).rewards) == 1999
    (told,) = warnings_of(caplog)
    assert "no time limit" in told


@pytest.mark.parametrize("period", [2, 3, 7])
def test_a_motion_that_repeats_itself_is_in_order(tmp_path, period):
    """Episodes of 30 steps, whose observations swing back after each period."""
    made = without_next(recorded(60, 30))
    phase = np.tile(2 * np.pi * np.arange(30) / period + 1, 60)[:, None]
    swing = np.sin(phase + np.arange(3)) + 0.02 * made["observations"]
    start = np.repeat(np.random.default_rng(0).normal(size=(60, 3)), 30, 0)
    swung = made | {"observations": (swing + start).astype("f4")}
    assert len(prepared(tmp_path, swung, task(length=30)).rewards)


def test_chunks_of_a_buffer_that_were_never_written_are_refused(tmp_path):
    made = without_next(recorded())
    with h5py.File(tmp_path / "mine.hdf5", "w") as stream:
        for key, value in made.items():
            size = (6000, *value.shape[1:])
            stream.create_dataset(key, size, value.dtype, chunks=(100, *value.shape[1:]))
            stream[key][:2000] = value
    with pytest.raises(DatasetError, match=r"observations: .*found 20 of 60 chunks"):
        prepare(tmp_path / "mine.hdf5", task(), "path", tmp_path / "t", tmp_path / "d.csv")


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (
            task("LimitedDrift-v0", length=10**6),
            "40 terminals after exactly 50 steps, first in row 49",
        ),
        (task(length=10**6), "terminals after each 50 steps, and no end in as many steps"),
        (task(end="truncated"), "terminals after each 50 steps, and no end"),
    ],
)
def test_timeouts_written_as_terminals_are_refused_unless_accepted(tmp_path, own, message):
    made = without_next(recorded())
    with pytest.raises(DatasetError, match=rf"terminals: .*{message}.*accept: \[limits\]"):
        prepared(tmp_path, made, own)
    prepared(tmp_path, made, own, ["limits"])
    prepared(tmp_path, without_next(recorded(end="truncated")), own)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_next_observations_are_compared_in_deviations_of_each_input(tmp_path, unit):
    made = recorded()
    scaled = {key: unit * made[key] for key in ("observations", "next_observations")}
    shift = np.array([0, 300 * unit, 0])
    made |= {key: (value + shift).astype("f4") for key, value in scaled.items()}
    assert len(prepared(tmp_path, made).rewards) == 1999
    order = np.random.default_rng(0).permutation(2000)
    with pytest.raises(DatasetError, match=r"next_observations: .*other observations"):
        prepared(tmp_path, {key: value[order] for key, value in made.items()})


def test_numbers_that_float32_does_not_tell_apart_are_refused_unless_accepted(tmp_path):
    made, clock = without_next(recorded(kind="clock")), task(kind="clock")
    with pytest.raises(InputError, match=r"environment is .*1 values of float32 for .* column 2"):
        try_environment(clock)
    with pytest.raises(DatasetError, match=r"observations: .*float32.*column 2.*Subtract"):
        prepared(tmp_path, made)
    narrow = made | {"observations": made["observations"].astype("f4")}
    with pytest.raises(DatasetError, match=r"observations: .*float32.*column 2"):
        prepared(tmp_path, narrow)
    assert len(prepared(tmp_path, made, clock, ["precision"]).rewards)
    coarse = (
        made["observations"] * [1, 1, 0] + np.array([293.15, 3e6, 0]) + made["observations"][:, :1]
    )
    assert len(prepared(tmp_path, made | {"observations": coarse}).rewards)


def test_actions_that_seem_scaled_are_told(tmp_path, caplog):
    made = without_next(recorded())
    prepared(tmp_path, made)
    assert not any("scaled" in told for told in warnings_of(caplog))
    prepared(tmp_path, made | {"actions": made["actions"] / abs(made["actions"]).max()})
    assert "actions: the largest is 1, and the bounds are -2 to 2" in caplog.text


PLAIN = np.arange(12.0)
FORMATS = {
    "npz": (lambda path: np.savez(path.open("wb"), observations=PLAIN), r"a zip archive, as \.npz"),
    "npy": (lambda path: np.save(path.open("wb"), PLAIN), r"an array of NumPy \(\.npy"),
    "pickle": (lambda path: path.write_bytes(pickle.dumps({"a": PLAIN})), "a pickle"),
    "gzip": (lambda path: path.write_bytes(gzip.compress(b"x")), "a gzip archive"),
    "csv": (lambda path: path.write_text("s0,s1,reward\n1,2,3\n"), "something else, .* b's0,s1,re"),
    "pointer": (
        lambda path: path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0"),
        "a pointer of Git LFS.*git lfs pull",
    ),
    "page": (lambda path: path.write_text("\n<!DOCTYPE html><p>404"), "a web page"),
    "empty": (lambda path: path.write_bytes(b""), "an empty file"),
    "folder": (lambda path: path.mkdir(), "a folder"),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_another_format_is_named_by_its_first_bytes_and_never_deleted(tmp_path, kind):
    make, message = FORMATS[kind]
    make(path := tmp_path / "mine.hdf5")
    expected = rf"mine\.hdf5: file: expected a readable HDF5 file, found {message}"
    with pytest.raises(DatasetError, match=expected) as refused:
        read_recording(path)
    assert not re.search("delete", str(refused.value), re.I)


def test_a_group_in_place_of_a_dataset_is_named(tmp_path):
    with h5py.File(tmp_path / "mine.hdf5", "w") as stream:
        stream["observations/agent"] = stream["observations/goal"] = np.zeros((9, 2))
    message = "observations: expected a dataset, found a group with agent, goal in it"
    with pytest.raises(DatasetError, match=message):
        read_recording(tmp_path / "mine.hdf5")


@pytest.mark.parametrize("user_block", [0, 512])
def test_a_cut_hdf5_file_is_to_be_deleted(tmp_path, user_block):
    path = tmp_path / "mine.hdf5"
    with h5py.File(path, "w", userblock_size=user_block) as stream:
        stream["observations"] = np.zeros((999, 3))
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(DatasetError, match=r"found HDF5 that is damaged .*Delete it"):
        read_recording(path)


TRIALS = {
    "": None,
    "global": "differ from step 1 where another one is stepped beside it",
    "unseeded": "two episodes with one seed and the same actions differ from step 1",
}


@pytest.mark.parametrize("kind", TRIALS)
def test_scores_that_depend_on_more_than_their_seeds_are_told(kind, caplog):
    try_environment(task(kind=kind))
    told = warnings_of(caplog)
    assert any(TRIALS[kind] in text for text in told) if kind else not told


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("32 bits", "its reset raised .*for any seed from 0 to 4294967295, here 4294967295"),
        ("one instance", "the simulator is in use.*several can be made at once"),
    ],
)
def test_a_simulator_that_an_evaluation_would_break_is_refused_before(kind, message):
    Drift.made = 0
    with pytest.raises(InputError, match=rf"rl\.tasks\.mine\.environment is .*{message}"):
        try_environment(task(kind=kind))
