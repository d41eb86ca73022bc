"""Which differences between two runs are those of measured times, and which are not."""

import json

import numpy as np
import pandas as pd
import pytest

from experiments.io import save_arrays, save_csv, save_table
from tests.cluster import files

TABLE = "results/s/tables/t.parquet"


@pytest.fixture
def written(tmp_path):
    """Return a function that gives the bytes of a file that another function writes."""

    def read(write, content, *rest):
        write(tmp_path / "file", content, *rest)
        return (tmp_path / "file").read_bytes()

    return read


@pytest.fixture
def table(written):
    return lambda **columns: written(save_table, pd.DataFrame(columns), {})


def kind(name, one, two):
    """Return how a file of two runs compares."""
    found = files.compare({name: one}, {name: two})._asdict()
    return next(key for key, names in found.items() if names)


def test_a_column_or_metric_of_times_may_differ_and_numbers_may_not(table):
    one = table(value=[1.0, 2.0], seconds=[0.1, 0.2])
    assert kind(TABLE, one, one) == "same"
    assert kind(TABLE, one, table(value=[1.0, 2.0], seconds=[0.3, 0.4])) == "timed"
    assert kind(TABLE, one, table(value=[1.0, 2.5], seconds=[0.1, 0.2])) == "different"
    metrics = {"metric": ["aps", "seconds"]}
    one = table(**metrics, value=[1.0, 2.0])
    assert kind(TABLE, one, table(**metrics, value=[1.0, 3.0])) == "timed"
    assert kind(TABLE, one, table(**metrics, value=[0.9, 2.0])) == "different"


def test_a_file_that_only_one_run_has_differs(table):
    found = files.compare({TABLE: table(value=[1.0])}, {})
    assert found.different == [TABLE]


def test_claims_judged_by_times_may_differ(written):
    def claims(*estimates):
        table = pd.DataFrame({"estimate": estimates, "timed": [False, True]})
        return written(save_csv, table)

    name = "results/s/claims/s.csv"
    assert kind(name, claims(1.0, 2.0), claims(1.0, 3.0)) == "timed"
    assert kind(name, claims(1.0, 2.0), claims(1.5, 2.0)) == "different"


def test_times_of_fits_may_differ(written):
    def fits(weight, seconds):
        arrays = {"kgl/weights": np.array([weight]), "kgl/seconds": np.array([seconds])}
        return written(save_arrays, arrays, {})

    name = "results/s/fits/a/b.npz"
    assert kind(name, fits(1.0, 2.0), fits(1.0, 3.0)) == "timed"
    assert kind(name, fits(1.0, 2.0), fits(1.5, 2.0)) == "different"


def test_the_page_may_differ_in_its_section_of_the_machine():
    def page(verdict, minutes):
        return f'<b>{verdict}</b><section id="machine">{minutes} min</section>'.encode()

    name = "results/s/report.html"
    assert kind(name, page(1, 2), page(1, 3)) == "timed"
    assert kind(name, page(1, 2), page(2, 2)) == "different"


def test_figures_of_times_may_differ_and_others_may_not(table):
    def run(picture, **columns):
        names = ("figures/t.png", "figures/u.png")
        other = table(metric=["aps"], value=[1.0])
        drawn = {f"results/s/{name}": picture for name in names}
        return {TABLE: table(**columns), "results/s/tables/u.parquet": other, **drawn}

    found = files.compare(*(run(b"%d" % k, metric=["seconds"], value=[k]) for k in range(2)))
    assert found.timed == ["results/s/figures/t.png", TABLE]
    assert found.different == ["results/s/figures/u.png"]


def test_records_of_times_and_kept_fits_are_no_results():
    names = ["results/.fits/a.npz", "results/s/logs/a", "results/s/benchmarks/a", "results/s/run/s",
             "results/s/jobs/s.csv", "results/s/gallery/jobs.csv"]  # fmt: skip
    kept = ["results/s/gallery/fig1.png", "results/s/provenance/s.json"]
    content = json.dumps({}).encode()
    assert list(files.results(dict.fromkeys([*names, *kept], content))) == kept
