"""Memory that is available in containers and batch jobs, from fake control groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgl import _memory

V2 = ("memory.max", "memory.current")
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes")
UNLIMITED = {V2: "max", V1: str(0x7FFFFFFFFFFFF000)}


def group(directory: Path, files: tuple[str, str], limit: int | None, used: int, stat: str = ""):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / files[0]).write_text(f"{UNLIMITED[files] if limit is None else limit}\n")
    (directory / files[1]).write_text(f"{used}\n")
    (directory / "memory.stat").write_text(stat)


def left(root: Path, own: str) -> int | None:
    (root / "self").write_text(own)
    return _memory._from_group(root / "mount", root / "self")


LAYOUTS = [
    pytest.param(V2, "", "0::{}\n", "", id="v2"),
    pytest.param(V1, "memory", "9:cpu,cpuacct:/x\n4:hugetlb,memory:{}\n0::/\n", "total_", id="v1"),
]


@pytest.mark.parametrize(("files", "hierarchy", "own", "prefix"), LAYOUTS)
def test_the_least_of_the_own_group_and_its_parents(tmp_path, files, hierarchy, own, prefix):
    base = tmp_path / "mount" / hierarchy
    group(base, files, None, 900)
    group(base / "job", files, 1000, 300)
    group(base / "job" / "step", files, 800, 50)
    group(base / "other", files, 10, 10)
    assert left(tmp_path, own.format("/job/step")) == 700
    group(base / "job" / "step", files, 800, 150)
    assert left(tmp_path, own.format("/job/step")) == 650
    assert left(tmp_path, own.format("/job/step/below")) == 650
    assert left(tmp_path, own.format("/")) is None
    # a container that sees its own group as the root, under the path of the host
    group(base, files, 500, 100)
    assert left(tmp_path, own.format("/docker/0123")) == 400
    assert left(tmp_path, own.format("/../0123")) == 400


@pytest.mark.parametrize(("files", "hierarchy", "own", "prefix"), LAYOUTS)
def test_files_in_memory_are_free_to_go(tmp_path, files, hierarchy, own, prefix):
    stat = f"{prefix}inactive_file 500\n{prefix}active_file 200\n{prefix}shmem 100\n"
    group(tmp_path / "mount" / hierarchy / "job", files, 1000, 950, stat)
    assert left(tmp_path, own.format("/job")) == 750
    group(tmp_path / "mount" / hierarchy / "job", files, 1000, 600, stat)  # read at two moments
    assert left(tmp_path, own.format("/job")) == 1000


def test_without_groups_or_with_other_files_there_is_no_limit(tmp_path):
    assert _memory._from_group(tmp_path / "none", tmp_path / "none") is None
    assert left(tmp_path, "no group\n") is None
    group(tmp_path / "mount", V2, 100, 30)
    assert left(tmp_path, "") == 70
