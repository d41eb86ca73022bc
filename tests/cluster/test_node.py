"""What the Slurm test refuses to touch, and what it tells apart; `make slurm-test` runs it."""

import json
import os

import pandas as pd
import pytest

from experiments.io import save_table
from tests.cluster import node, run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Slurm runs on Linux")


def test_users_other_than_root_are_told(monkeypatch):
    monkeypatch.setattr(node.os, "geteuid", lambda: 1000)
    with pytest.raises(node.Unavailable, match="started as root: run this as root, in a container"):
        node.install()


def test_without_apt_the_packages_are_named(monkeypatch):
    monkeypatch.setattr(node.os, "geteuid", lambda: 0)
    monkeypatch.setattr(node.shutil, "which", lambda *_, **__: None)
    with pytest.raises(node.Unavailable, match="no apt-get; install slurm-wlm and munge"):
        node.install()


def test_a_slurm_that_is_not_ours_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(node, "CONF", tmp_path / "slurm.conf")
    node.CONF.write_text("ClusterName=theirs\n", encoding="utf-8")
    monkeypatch.setattr(node, "install", lambda: None)
    with (
        pytest.raises(node.Unavailable, match="a Slurm is configured here"),
        node.one_node(tmp_path / "node", "main"),
    ):
        pass
    assert node.CONF.read_text(encoding="utf-8") == "ClusterName=theirs\n"
    assert not (tmp_path / "node").exists()


def test_measured_times_are_no_difference_and_numbers_are(tmp_path):
    def stored(**columns):
        save_table(tmp_path / "t.parquet", pd.DataFrame(columns), {})
        return run.without_times("t.parquet", (tmp_path / "t.parquet").read_bytes())

    one = stored(value=[1.0, 2.0], seconds=[0.1, 0.2])
    assert one == stored(value=[1.0, 2.0], seconds=[0.3, 0.4])
    assert one != stored(value=[1.0, 2.5], seconds=[0.1, 0.2])
    rows = {"metric": ["aps", "seconds"]}
    assert stored(**rows, value=[1.0, 2.0]) == stored(**rows, value=[1.0, 3.0])
    assert stored(**rows, value=[1.0, 2.0]) != stored(**rows, value=[0.9, 2.0])
    records = [json.dumps({"tables": {"a": {"sha256": x}}, "x": y}).encode() for x, y in
               [("1", 0), ("2", 0), ("1", 1)]]  # fmt: skip
    first, second, third = (run.without_times("p.json", record) for record in records)
    assert first == second != third
    pages = [b'<b>%d</b><table aria-label="The run"><td>%d</td></table>' % x
             for x in [(1, 2), (1, 3), (2, 2)]]  # fmt: skip
    first, second, third = (run.without_times("report.html", page) for page in pages)
    assert first == second != third
    assert run.without_times("a.png", b"1") != run.without_times("a.png", b"2")
