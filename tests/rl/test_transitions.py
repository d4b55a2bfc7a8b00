"""D4RL's layout: read as d4rl reads it, refused with a message that helps, kept as safetensors."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from recorded_files import written

from triptych.rl.tasks.environments import spaces_of
from triptych.rl.tasks.preparing import dataset_summary, prepare, q_learning_transitions
from triptych.rl.tasks.recording import Recording, read_recording
from triptych.rl.tasks.task import task_named
from triptych.rl.tasks.transitions import DatasetError, read_transitions

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


@pytest.mark.parametrize("last", ["terminal", "timeout", "open"])
def test_pairs_equal_d4rl_bit_for_bit(tmp_path: Path, last: str) -> None:
    d4rl = pytest.importorskip("d4rl")
    columns = recorded(3500)
    columns["terminals"][-1] = last == "terminal"
    columns["timeouts"][-1] = last == "timeout"
    ours = q_learning_transitions(read_recording(written(tmp_path / "x.hdf5", columns)))
    theirs = d4rl.qlearning_dataset(SimpleNamespace(_max_episode_steps=1000), dataset=columns)
    assert 0 < len(theirs["rewards"]) < 3499
    for key, expected in theirs.items():
        np.testing.assert_array_equal(getattr(ours, key), expected.astype(np.float32), key)


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
    ("timeouts", lambda v: v.astype(np.int64) * 2, "0 and 1", "to 2"),
    ("actions", lambda v: put(v, (5, [0, 1]), [np.inf, -np.inf]), "finite", "row 5"),
    ("actions", lambda v: put(v, [7, 9], 5), "[-1, 1]", "2 rows, first in row 7"),
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
    start, wanted, there = map(re.escape, (str(path), expected, found))
    assert re.match(
        rf"{start}: {key}: expected .*{wanted}.*, found .*{there}.*\. \w+", str(caught.value)
    )


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
    first = read_transitions(arrays, 2)
    for name, value in vars(first).items():
        np.testing.assert_array_equal(value, getattr(kept, name)[:2])
    with pytest.raises(DatasetError, match="expected 99999 transitions or more"):
        read_transitions(arrays, 99_999)
    keep = ~columns["timeouts"][:-1]
    np.testing.assert_array_equal(kept.observations, columns["observations"][:-1][keep])
    np.testing.assert_array_equal(kept.next_observations, columns["observations"][1:][keep])
    assert {values.dtype for values in vars(kept).values()} == {np.dtype(np.float32)}
    header, row = table.read_text().splitlines()
    assert header.startswith("task,source,file,transitions,episodes,return_mean")
    assert row.startswith(f"hopper,path,mine.hdf5,{keep.sum()},")
