"""What the Slurm test refuses to touch; `make slurm-test` runs it."""

import os

import pytest

from tests.cluster import node

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
