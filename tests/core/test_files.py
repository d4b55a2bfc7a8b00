"""A file is whole or absent."""

import pytest

from triptych.core.files import atomic_path, sha256_of


def test_a_block_that_fails_leaves_the_earlier_file_and_no_litter(tmp_path):
    target = tmp_path / "table.csv"
    target.write_text("old")
    with pytest.raises(RuntimeError), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_the_new_file_replaces_the_old_one_and_folders_are_made(tmp_path):
    target = tmp_path / "a" / "b.csv"
    with atomic_path(target) as temporary:
        assert temporary.suffix == ".csv"
        temporary.write_text("new")
    assert target.read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


def test_sha256_of_a_known_text(tmp_path):
    (tmp_path / "abc").write_bytes(b"abc")
    # FIPS 180-2, appendix B.1
    # pragma: allowlist nextline secret
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert sha256_of(tmp_path / "abc") == expected
