"""Profiles for clusters: their numbers are measured ones, and every rule has them."""

import re

import pandas as pd
import pytest
import yaml

from experiments import cluster
from experiments.lookup import ROOT

COLUMNS = dict(zip(cluster.COLUMNS, range(len(cluster.COLUMNS)), strict=True))
MEASURED = pd.DataFrame(
    [
        ("paper", "(start)", 1, 10.0, 10.0, 250.0),
        ("paper", "fit", 100, 1000.0, 120.0, 400.0),
        ("other", "fit", 10, 500.0, 90.0, 700.0),
        ("paper", "score", 50, 50.0, 2.0, 100.0),
        ("other", "search", 1, 900.0, 900.0, 100.0),
        ("smoke", "confirm", 2, 2.0, 1.0, 100.0),
    ],
    columns=list(COLUMNS),
)


def test_what_is_asked_for_follows_from_what_was_measured():
    table = cluster.allocation(MEASURED)
    assert list(table.index) == ["confirm", "fit", "score", "search"]
    # 1.5 x (700 + 2 x 250), in steps of 500; 4 x 120 s; five minutes of jobs of 13.6 s
    assert table.loc["fit"].tolist() == [2000, 8, 16]
    assert table.loc["score"].tolist() == [1000, 5, 16]
    assert table.loc["search"].tolist() == [1000, 60, 1]
    # the smoke run says little about a whole one
    assert table.loc["confirm"].tolist() == [3000, 60, 4]


def test_jobs_of_a_run_are_timed_by_that_run_where_it_was_measured():
    assert cluster.mean_seconds(MEASURED, "paper")["fit"] == (10.0, "100 jobs of this run")
    assert cluster.mean_seconds(MEASURED, "other")["fit"] == (50.0, "10 jobs of this run")
    mean, source = cluster.mean_seconds(MEASURED, "third")["fit"]
    assert mean == pytest.approx(1500 / 110)
    assert source == "110 jobs of paper, other"


def test_waiting_on_a_busy_machine_does_not_count(tmp_path):
    path = tmp_path / "busy/benchmarks/fit/a.tsv"
    path.parent.mkdir(parents=True)
    path.write_text("s\tmax_rss\tcpu_time\n140\t100\t20\n2\t100\t0.3\n", encoding="utf-8")
    assert cluster.of_directory(tmp_path / "busy").loc[0, "seconds_in_all"] == 22.0


def test_benchmarks_of_a_run_are_added_up_by_rule(tmp_path, monkeypatch):
    for name, rows in {
        "fit/a/b.tsv": "2.5\t100.0",
        "fit/c.tsv": "1.5\t-",
        "data/d.tsv": "1\t5",
    }.items():
        path = tmp_path / "mine/benchmarks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"s\tmax_rss\n{rows}\n", encoding="utf-8")
    found = cluster.of_directory(tmp_path / "mine").set_index("rule")
    assert found.loc["fit"].tolist() == ["mine", 2, 4.0, 2.5, 100.0]
    assert found.loc["data"].tolist() == ["mine", 1, 1.0, 1.0, 5.0]
    with pytest.raises(SystemExit, match="has no benchmarks; give the directory of a finished run"):
        cluster.of_directory(tmp_path)
    # what is noted of other runs stays, what was noted of this one is replaced
    monkeypatch.setattr(cluster, "MEASURED", tmp_path / "measured.csv")
    monkeypatch.setattr(cluster, "_start", lambda: MEASURED[:1])
    old = pd.DataFrame(
        [("mine", "fit", 1, 9, 9, 9), ("old", "fit", 1, 9, 9, 9)], columns=list(COLUMNS)
    )
    old.to_csv(cluster.MEASURED, index=False)
    table = cluster.measure([str(tmp_path / "mine")]).set_index(["run", "rule"])
    assert table.loc[("mine", "fit"), "seconds_in_all"] == 4.0
    assert ("old", "fit") in table.index
    assert table.loc[("paper", "fit"), "jobs"] > 800  # from figures/jobs.csv


@pytest.mark.parametrize("name", cluster.PROFILES)
def test_profiles_have_the_numbers_that_are_noted(name):
    text = (ROOT / "profiles" / name / "config.yaml").read_text(encoding="utf-8")
    assert cluster.profile_text(cluster.load_measured()) in text, (
        "run: python -m experiments.cluster profiles"
    )
    profile = yaml.safe_load(text)
    assert profile["cores"] == 1  # or a submission asks for the cores of all of its jobs
    names = {line.partition("=")[0] for line in profile["groups"]}
    assert names <= set(profile["set-resources"])
    # a rule that runs beside Snakemake must not be in a group: it would be submitted
    assert not names & cluster.local_rules()


def test_the_dry_run_of_the_paper_lists_partition_memory_and_time_of_every_rule(
    checkout, monkeypatch
):
    for name, value in checkout.environment.items():
        monkeypatch.setenv(name, value)
    text = cluster.plan("profiles/slurm", [], checkout.root)
    rows = [re.split(r"  +", line) for line in text.partition("\n\n")[0].splitlines()]
    assert rows[0][:6] == ["rule", "jobs", "submissions", "partition", "memory MB", "minutes"]
    listed = {row[0]: row for row in rows[1:]}
    remote = {name for name, row in listed.items() if row[2] != "0"}
    assert remote == {"data", "fit", "score", "figure", "example"}
    assert set(listed) - remote <= cluster.local_rules() | {"all"}
    for name in remote:
        _, jobs, submissions, partition, memory, minutes, hours, source = listed[name]
        assert partition == "main"
        assert int(memory) >= 500
        assert int(minutes) >= 5
        assert 1 <= int(submissions) <= int(jobs)
        assert float(hours) >= 0
        assert re.fullmatch(r"\d+ jobs of [a-z, ]+", source)
    assert int(listed["fit"][1]) > 800
    assert int(listed["fit"][2]) < 60
    assert re.search(r"\d submissions of one core each\. Core hours: [1-9]\.\d of work", text)
