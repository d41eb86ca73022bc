"""Checksums of published files."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.lookup import ROOT
from experiments.report import load
from experiments.sums import SUMS, check_sum, save_sums


@pytest.fixture
def gallery(tmp_path: Path) -> Path:
    for name in ("a.csv", "b c.csv"):
        (tmp_path / name).write_text("claim\nM1\n")
    save_sums(tmp_path, ["a.csv", "b c.csv"])
    return tmp_path


def test_a_file_that_changed_is_refused(gallery: Path) -> None:
    check_sum(gallery / "a.csv")
    (gallery / "a.csv").write_text("claim\nM2\n")
    with pytest.raises(ValueError, match=r"a\.csv is not the file that was published.*restore"):
        check_sum(gallery / "a.csv")
    check_sum(gallery / "b c.csv")
    with pytest.raises(ValueError, match="is not the file that was published"):
        load(gallery)


def test_others_are_kept_and_lost_ones_dropped(gallery: Path) -> None:
    before = (gallery / SUMS).read_text()
    (gallery / "c.json").write_text("{}")
    save_sums(gallery, ["c.json"])
    assert (gallery / SUMS).read_text().startswith(before)
    (gallery / "a.csv").unlink()
    save_sums(gallery, ["c.json"])
    assert [line[66:] for line in (gallery / SUMS).read_text().splitlines()] == [
        "b c.csv",
        "c.json",
    ]


def test_without_a_list_or_an_entry_files_pass(gallery: Path) -> None:
    (gallery / "new.csv").write_text("claim\n")
    check_sum(gallery / "new.csv")
    (gallery / SUMS).unlink()
    check_sum(gallery / "a.csv")


def test_a_damaged_list_is_refused(gallery: Path) -> None:
    text = (gallery / SUMS).read_bytes()
    (gallery / SUMS).write_bytes(b"\xff" + text[1:])
    with pytest.raises(ValueError, match=r"SHA256SUMS, line 1, is no checksum.*experiments\.sums"):
        check_sum(gallery / "a.csv")


def test_those_of_the_repository_are_right() -> None:
    listed = [line[66:] for line in (ROOT / "figures" / SUMS).read_text().splitlines()]
    assert "claims.csv" in listed
    for name in listed:
        check_sum(ROOT / "figures" / name)
