"""A file is whole or absent."""

import pytest

from triptych.core.files import atomic_path


def test_a_block_that_fails_leaves_the_earlier_file_and_no_litter(tmp_path):
    target = tmp_path / "table.csv"
    target.write_text("old")
    with pytest.raises(RuntimeError), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
