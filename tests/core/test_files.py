"""A file is whole or absent."""

import os

import pytest

from triptych.core.files import atomic_path, link_or_copy


def test_a_block_that_fails_leaves_the_earlier_file_and_no_litter(tmp_path):
    target = tmp_path / "table.csv"
    target.write_text("old")
    with pytest.raises(RuntimeError), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("links", [True, False])
def test_a_second_name_shares_the_disk_where_it_can_and_replaces_what_was_there(
    tmp_path, monkeypatch, links
):
    if not links:

        def refuse(*_):
            raise OSError(18, "Invalid cross-device link")

        monkeypatch.setattr(os, "link", refuse)
    first, second = tmp_path / "first", tmp_path / "folder" / "second"
    second.parent.mkdir()
    first.write_text("new")
    second.write_text("old")
    link_or_copy(first, second)
    link_or_copy(first, second)
    assert second.read_text() == "new"
    assert first.samefile(second) == links
    assert list(second.parent.iterdir()) == [second]
