"""D4RL's layout: read as d4rl reads it, refused with a message that helps, kept as safetensors."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest

from triptych.rl.tasks.environments import spaces_of
from triptych.rl.tasks.recording import DatasetError, Recording, read_recording, timeouts_by_length
from triptych.rl.tasks.task import task_named
from triptych.rl.tasks.transitions import (
    dataset_summary,
    prepare,
    q_learning_transitions,
    read_transitions,
)

ROWS = 400
HOPPER = spaces_of(task_named("hopper"))


def recorded(rows: int = ROWS, seed: int = 0) -> dict[str, np.ndarray]:
    """Columns of a Hopper file: random numbers, several terminals and time-outs."""
    generator = np.random.default_rng(seed)
    ends = generator.random(rows)
    return {
        "observations": generator.normal(size=(rows, 11)).astype(np.float32),
        "actions": generator.uniform(-1, 1, (rows, 3)).astype(np.float32),
        "rewards": generator.normal(size=rows).astype(np.float32),
        "terminals": ends < 0.03,
        "timeouts": ends > 0.97,
    }


def written(path: Path, columns: dict[str, Any]) -> Path:
    with h5py.File(path, "w") as stream:
        for key, values in columns.items():
            stream[key] = values
    return path


@pytest.fixture
def d4rl_oracle(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("D4RL_SUPPRESS_IMPORT_ERROR", "1")
    return pytest.importorskip("d4rl")


@pytest.mark.parametrize("last", ["terminal", "timeout", "open"])
@pytest.mark.parametrize("with_timeouts", [True, False])
def test_pairs_equal_d4rl_bit_for_bit(
    tmp_path: Path, d4rl_oracle: Any, last: str, with_timeouts: bool
) -> None:
    columns = recorded(3500)
    columns["terminals"][-1] = last == "terminal"
    columns["timeouts"][-1] = last == "timeout"
    if not with_timeouts:
        # Few enough terminals that the limit of 1000 steps cuts: once at the very step of a
        # terminal, once between two, once in the rows after the last.
        columns["terminals"][:-1] = False
        columns["terminals"][[0, 499, 1498, 2300]] = True
        del columns["timeouts"]
    ours = q_learning_transitions(read_recording(written(tmp_path / "x.hdf5", columns)))
    theirs = d4rl_oracle.qlearning_dataset(
        SimpleNamespace(_max_episode_steps=1000), dataset=columns
    )
    assert 0 < len(theirs["rewards"]) < 3499
    for key, expected in theirs.items():
        np.testing.assert_array_equal(getattr(ours, key), expected.astype(np.float32), key)


def with_next(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """As D4RL's v2 files: what was seen after the step, not the next episode's first."""
    following = np.roll(columns["observations"], -1, axis=0)
    following[columns["terminals"] | columns["timeouts"]] += 1.0
    return columns | {"next_observations": following}


def test_next_observations_that_follow_change_nothing(tmp_path: Path, caplog: Any) -> None:
    """Not by a bit, though they were kept with less digits."""
    plain = recorded()
    columns = with_next(plain)
    columns["next_observations"] = columns["next_observations"].astype(np.float64) + 1e-7
    without = q_learning_transitions(read_recording(written(tmp_path / "a.hdf5", plain)))
    given = q_learning_transitions(read_recording(written(tmp_path / "b.hdf5", columns)))
    for key, values in vars(without).items():
        np.testing.assert_array_equal(getattr(given, key), values, key)
    assert "taken out" not in caplog.text


def test_rows_that_were_taken_out_leave_no_wrong_pairs(tmp_path: Path, caplog: Any) -> None:
    columns = with_next(recorded())
    left = np.flatnonzero(np.random.default_rng(1).random(ROWS) < 0.7)
    filtered = {key: values[left] for key, values in columns.items()}
    pairs = q_learning_transitions(read_recording(written(tmp_path / "x.hdf5", filtered)))
    used = left[:-1][~columns["timeouts"][left[:-1]]]
    lasting = ~columns["terminals"][used]
    np.testing.assert_array_equal(
        pairs.next_observations[lasting], columns["observations"][used[lasting] + 1]
    )
    assert "next_observations is used" in caplog.text


def test_float64_and_integer_flags_give_the_same_as_float32_and_bool(tmp_path: Path) -> None:
    columns = recorded()
    wide = {
        key: values.astype(np.uint8 if values.dtype == bool else np.float64)
        for key, values in columns.items()
    }
    narrow = read_recording(written(tmp_path / "narrow.hdf5", columns))
    widened = read_recording(written(tmp_path / "wide.hdf5", wide))
    for key in columns:
        values, other = getattr(narrow, key), getattr(widened, key)
        assert other.dtype == values.dtype
        np.testing.assert_array_equal(other, values)


def put(values: np.ndarray, rows: Any, what: Any) -> np.ndarray:
    """A copy with other values in some rows."""
    changed = values.copy()
    changed[rows] = what
    return changed


FAULTS: list[tuple[str, Any, str, str]] = [
    ("actions", lambda v: None, "a dataset of that name", "observations, rewards, terminals"),
    ("observations", lambda v: v.astype(np.int64), "float32", "int64"),
    ("terminals", lambda v: v.astype(np.float32), "bool", "float32"),
    ("timeouts", lambda v: v.astype(np.int64) * 2, "0 and 1", "to 2"),
    ("rewards", lambda v: v[:-1], "400 rows", "399 rows"),
    ("actions", lambda v: v[:, 0], "2 dimensions", "(400,)"),
    ("observations", lambda v: put(v, (17, 3), np.nan), "finite", "row 17"),
    ("actions", lambda v: put(v, (5, [0, 1]), [np.inf, -np.inf]), "finite", "row 5"),
    ("rewards", lambda v: put(v.astype(np.float64), 0, 1e300), "finite", "row 0"),
    ("observations", lambda v: np.ones((ROWS, 17), "f4"), "11 columns for hopper", "17 columns"),
    ("actions", lambda v: put(v, [7, 9], 5), "[-1, 1]", "2 rows, first in row 7"),
    ("next_observations", lambda v: v[:, :9], "11 columns", "9 columns"),
]


@pytest.mark.parametrize(("key", "change", "expected", "found"), FAULTS)
def test_a_faulty_file_is_refused_by_file_and_key(
    tmp_path: Path, key: str, change: Any, expected: str, found: str
) -> None:
    columns = recorded()
    changed = change(columns.get(key, columns["observations"]))
    wrong = {name: values for name, values in columns.items() if name != key}
    path = written(tmp_path / "mine.hdf5", wrong | ({} if changed is None else {key: changed}))
    with pytest.raises(DatasetError) as caught:
        read_recording(path, HOPPER)
    assert caught.value.key == key
    assert expected in caught.value.expected
    assert found in caught.value.found
    assert re.match(
        rf"{re.escape(str(path))}: {key}: expected .*, found .*\. \w+", str(caught.value)
    )


def test_a_file_that_is_not_there_or_not_hdf5_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="nothing there"):
        read_recording(tmp_path / "absent.hdf5")
    (tmp_path / "page.hdf5").write_text("<html>not found</html>")
    with pytest.raises(DatasetError, match="readable HDF5 file"):
        read_recording(tmp_path / "page.hdf5")


@pytest.mark.parametrize("seed", range(20))
def test_unmarked_time_limits_equal_d4rls_counter(seed: int, d4rl_oracle: Any) -> None:
    """Which rows are dropped, for many patterns of terminals and a limit of 5 steps."""
    generator = np.random.default_rng(seed)
    terminals = generator.random(60) < generator.choice([0.02, 0.1, 0.3])
    numbers = np.arange(60, dtype=np.float32)
    kept = d4rl_oracle.qlearning_dataset(
        SimpleNamespace(_max_episode_steps=5),
        dataset={
            "observations": numbers[:, None],
            "actions": numbers[:, None],
            "rewards": numbers,
            "terminals": terminals,
        },
    )["rewards"]
    ours = numbers[:-1][~timeouts_by_length(terminals, 5)[:-1]]
    np.testing.assert_array_equal(ours, kept)


def test_summary_of_a_recording_counted_by_hand() -> None:
    flags = np.zeros(6, dtype=bool)
    terminals, timeouts = flags.copy(), flags.copy()
    terminals[1], timeouts[3] = True, True
    recording = Recording(
        np.zeros((6, 11), np.float32),
        np.zeros((6, 3), np.float32),
        np.array([1, 2, 10, 20, 100, 200], np.float32),
        terminals,
        timeouts,
    )
    row = dataset_summary(recording, task_named("hopper"), "path", "mine.hdf5").iloc[0]
    assert row["episodes"] == 3
    assert row["return_mean"] == pytest.approx((3 + 30 + 300) / 3)
    assert row["return_std"] == pytest.approx(np.std([3, 30, 300]))
    # D4RL's scale: 0 at -20.272305 and 100 at 3234.3.
    assert row["score_normalised_mean"] == pytest.approx((111 + 20.272305) / 32.54572305)
    assert (row["terminals"], row["timeouts"], row["transitions"]) == (1, 1, 4)


def test_prepare_writes_the_pairs_and_the_row(tmp_path: Path) -> None:
    columns = recorded()
    path = written(tmp_path / "mine.hdf5", columns | {"metadata/algorithm": np.bytes_("SAC")})
    arrays, table = tmp_path / "out" / "t.safetensors", tmp_path / "out" / "dataset.csv"
    prepare(path, task_named("hopper"), "path", arrays, table)
    kept = read_transitions(arrays)
    keep = ~columns["timeouts"][:-1]
    np.testing.assert_array_equal(kept.observations, columns["observations"][:-1][keep])
    np.testing.assert_array_equal(kept.next_observations, columns["observations"][1:][keep])
    arrays = {key: values for key, values in vars(kept).items() if key != "validation"}
    assert {values.dtype for values in arrays.values()} == {np.dtype(np.float32)}
    assert kept.validation is None  # of what can be played nothing is held out
    header, row = table.read_text().splitlines()
    assert header.startswith("task,source,file,transitions,episodes,return_mean")
    assert row.startswith(f"hopper,path,mine.hdf5,{keep.sum()},")


def test_a_file_of_time_outs_only_is_refused(tmp_path: Path) -> None:
    columns = recorded()
    columns["timeouts"][:] = True
    path = written(tmp_path / "x.hdf5", columns)
    with pytest.raises(DatasetError, match="time-outs only"):
        prepare(path, task_named("hopper"), "path", tmp_path / "t.safetensors", tmp_path / "d.csv")
