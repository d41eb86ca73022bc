"""The workflow as a user meets it: what runs, what runs again, and that nothing else matters."""

import html
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.image import imread

from kgl.replication.config import compose
from kgl.replication.plan import make_plan
from kgl.replication.records import load_table

SMOKE = "study=smoke"
PLAN = make_plan("smoke")
OUT = PLAN.directory
MODELS = {"gl", "gl2step", "kgln", "kglo", "kgl", "kglagnostic"}
FITS = frozenset(f"{OUT}/fits/{name}.npz" for name in PLAN.cells)
DATA = frozenset(f"{OUT}/data/{name}.npz" for name in PLAN.datasets)
#: The settings of the smoke run, so that one study of it can be run by itself.
SMALL = compose([SMOKE]).values()["study"]["overrides"]


def overrides(*texts):
    """Write overrides as on the command line."""
    return f"overrides=[{','.join(json.dumps(text) for text in texts)}]"


def fits(*names):
    return {f for f in FITS if Path(f).stem in names}


def pending(checkout):
    """Outputs of the jobs that a run would take, by rule; tables and figures by their study.

    What gathers results (`summary`, `publish`, `example`) is checked here: it follows the rest.
    """
    found = defaultdict(set)
    for job in checkout.pending(SMOKE):
        short = job.rule in ("score", "figure")
        found[job.rule] |= {Path(path).stem if short else path for path in job.outputs}
    gathered = {rule for rule in found if rule in ("summary", "publish", "example")}
    assert ("summary" in gathered) == ("score" in found)
    assert ("publish" in gathered) == bool(found.keys() & {"figure", "example"})
    return {rule: outputs for rule, outputs in found.items() if rule not in gathered}


# -- one whole run ------------------------------------------------------------------------------


def test_the_copy_runs_its_own_code(smoke):
    probe = "import kgl, experiments; print(kgl.__file__); print(experiments.__file__)"
    command = [sys.executable, "-c", probe]
    shown = subprocess.run(
        command, cwd=smoke.root, env=smoke.environment, capture_output=True, text=True, check=True
    )
    assert all(Path(line).is_relative_to(smoke.root) for line in shown.stdout.splitlines())


def test_every_rule_ran(smoke):
    rules = re.findall(r"^rule (\w+):", (smoke.root / "Snakefile").read_text(), re.MULTILINE)
    logs = smoke.root / OUT / "logs"
    ran = {path.relative_to(logs).parts[0].removesuffix(".log") for path in logs.rglob("*.log")}
    assert ran == set(rules) - {"all"}
    for log in logs.rglob("*.log"):
        assert "Traceback" not in log.read_text(encoding="utf-8"), log


def test_all_models_are_in_the_tables(smoke):
    tables = {
        name: load_table(smoke.root / OUT / f"tables/{name}.parquet")[0] for name in PLAN.studies
    }
    assert set(tables["fig2"]["model"]) == set(tables["fig3"]["model"]) == MODELS
    for name, table in tables.items():
        assert set(table["study"]) == {name}
        assert set(table["replicate"]) == {0, 1}
        assert set(PLAN.studies[name].config["metrics"]) <= set(table["metric"])
        assert len(table.drop_duplicates(["graph", "data", "level", "m", "n", "model"])) == len(
            PLAN.studies[name].cells
        )


@pytest.mark.parametrize("study", PLAN.studies)
def test_every_study_has_its_figure(study, smoke):
    path = smoke.root / OUT / "figures" / study
    assert min(imread(path.with_suffix(".png")).shape[:2]) > 100
    assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
    assert len(pd.read_csv(path.with_suffix(".csv"))) > 0


def test_the_run_says_where_it_comes_from(smoke):
    record = json.loads((smoke.root / OUT / "provenance/smoke.json").read_text(encoding="utf-8"))
    assert record["run"]["name"] == "smoke"
    assert set(record["tables"]) == set(PLAN.studies)
    cost = pd.read_csv(smoke.root / OUT / "cost/smoke.csv")
    assert cost["jobs"].sum() == len(PLAN.cells) + len(PLAN.datasets) + len(PLAN.studies)


class Fetched(HTMLParser):
    """Addresses of what a browser would fetch to show a page."""

    def __init__(self):
        super().__init__()
        self.addresses = []

    def handle_starttag(self, tag, attrs):
        names = {"link": "href"}.get(tag, "src")
        found = [v for k, v in attrs if k == names and v and not v.startswith("data:")]
        self.addresses += found


def test_the_report_is_one_page_with_every_caption(finished):
    finished.snakemake("--config", SMOKE, "--report", "report.html")
    page = (finished.root / "report.html").read_text(encoding="utf-8")
    fetched = Fetched()
    fetched.feed(page)
    assert not fetched.addresses
    results = json.loads(re.search(r"var results = (\{.*\});?$", page, re.MULTILINE)[1])
    for name, study in PLAN.studies.items():
        for kind, mime in (("png", "image/png"), ("csv", "text/csv")):
            found = results[f"{OUT}/figures/{name}.{kind}"]
            text = html.unescape(re.sub(r"<[^>]+>", "", found["caption"]))
            assert text.split() == study.caption.split()
            assert found["data_uri"].startswith(f"data:{mime};")
    # the page does not need the files beside it
    assert not (finished.root / "report").exists()


# -- what runs again ----------------------------------------------------------------------------


def test_a_second_run_has_nothing_to_do(finished):
    before = finished.files(OUT)
    assert "Nothing to be done" in finished.snakemake("--cores", "1", "--config", SMOKE)
    assert finished.files(OUT) == before


def test_touched_files_and_unused_modules_rerun_nothing(finished):
    for path in ("kgl/simulate.py", "kgl/solvers/graph_step.py", "experiments/style.py"):
        (finished.root / path).touch()
    finished.append("kgl/selection.py")
    assert finished.pending(SMOKE) == []


def test_an_edited_model_reruns_its_own_cells(finished):
    finished.replace("conf/model/kglo.yaml", "lam: ${grid.lam}", "lam: [0.03, 3.0]")
    mine, concerned = fits("kglo"), {"fig2", "fig3", "fig4"}
    assert pending(finished) == {"fit": mine, "score": concerned, "figure": concerned}
    # and so it does
    before = finished.files(f"{OUT}/fits") | finished.files(f"{OUT}/data")
    tables = finished.files(f"{OUT}/tables")
    finished.snakemake("--cores", "2", "--config", SMOKE)
    after = finished.files(f"{OUT}/fits") | finished.files(f"{OUT}/data")
    assert {path for path in after if after[path] != before[path]} == mine
    changed = {p for p, content in finished.files(f"{OUT}/tables").items() if content != tables[p]}
    assert {Path(path).stem for path in changed} == concerned
    table, _ = load_table(finished.root / OUT / "tables/fig2.parquet")
    assert set(table.loc[table["model"] == "kglo", "lam"]) <= {0.03, 3.0}


EVERY = set(PLAN.studies)
CURVES = {name for name, s in PLAN.studies.items() if s.config["figure"].startswith("curves.")}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("experiments/figures/curves.py", {"figure": CURVES}),
        ("experiments/style.py", {"figure": EVERY}),
        ("kgl/replication/scoring.py", {"score": EVERY, "figure": EVERY}),
        ("kgl/solvers/graph_step.py", {"fit": FITS, "score": EVERY, "figure": EVERY}),
        ("kgl/simulate.py", {"data": DATA, "fit": FITS, "score": EVERY, "figure": EVERY}),
    ],
)
def test_edited_code_reruns_what_it_decides(path, expected, finished):
    finished.append(path)
    assert pending(finished) == expected


def test_a_new_colour_redraws(finished):
    finished.replace("conf/model/kglo.yaml", "#009E73", "#117733")
    assert pending(finished) == {"figure": {"fig2", "fig3", "fig4"}}


def test_new_settings_of_the_data_reach_the_fits(finished):
    finished.replace("conf/data/dependent.yaml", "noise: 0.01", "noise: 0.02")
    # figure 2 sweeps over the noise, so its cells do not depend on the default
    touched = {
        n: c for n, c in PLAN.cells.items() if c.data["data"]["dependent"] and "/noise-" not in n
    }
    found = pending(finished)
    assert found["data"] == {f"{OUT}/data/{cell.dataset}.npz" for cell in touched.values()}
    assert found["fit"] == {f"{OUT}/fits/{name}.npz" for name in touched}
    assert found["score"] == EVERY - {"fig2"}


# -- how it is run does not matter --------------------------------------------------------------


def results_of(checkout, out):
    """Table and drawn numbers of figure 2."""
    paths = (f"{out}/tables/fig2.parquet", f"{out}/figures/fig2.csv")
    return [(checkout.root / path).read_bytes() for path in paths]


FIG2 = ("study=fig2", "run=again", overrides(*SMALL))


def test_one_core_or_two(smoke, checkout):
    """Figure 2 by itself on one core has the bytes that it has in the smoke run on two."""
    checkout.snakemake("--cores", "1", "--config", *FIG2)
    assert results_of(checkout, "results/again") == results_of(smoke, OUT)


def test_a_killed_run_goes_on(smoke, checkout):
    total = len(make_plan("fig2", SMALL).cells)

    def done():
        return set((checkout.root / "results/again/fits").rglob("[!.]*.npz"))

    process = subprocess.Popen(
        checkout.command("--cores", "2", "--config", *FIG2),
        cwd=checkout.root,
        env=checkout.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # a process group of its own, jobs included
    )
    try:
        end = time.monotonic() + 300
        while len(done()) < 5:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    kept = {path: path.stat().st_mtime_ns for path in done()}
    assert 5 <= len(kept) < total
    assert not (checkout.root / "results/again/tables/fig2.parquet").exists()

    assert "unlock" in checkout.snakemake("--cores", "2", "--config", *FIG2, fails=True)
    checkout.snakemake("--unlock", "--config", *FIG2)
    checkout.snakemake("--cores", "2", "--config", *FIG2)
    assert len(done()) == total
    # at most the two jobs that were under way, finished but not yet noted down, run again
    again = [path for path, stamp in kept.items() if path.stat().st_mtime_ns != stamp]
    assert len(again) <= 2
    assert results_of(checkout, "results/again") == results_of(smoke, OUT)


# -- overrides and failures ---------------------------------------------------------------------


def test_overrides_leave_the_plain_run_alone(checkout):
    """The plain run (here of one figure) is published; one with overrides is kept apart."""
    studies = re.search(
        r"^studies: .*$", (checkout.root / "conf/study/paper.yaml").read_text(), re.M
    )
    checkout.replace("conf/study/paper.yaml", studies[0], "studies: [fig1]")
    checkout.snakemake("--cores", "2")
    plain = checkout.files("results/paper") | checkout.files("figures")
    for kind in ("png", "csv"):
        assert plain[f"figures/fig1.{kind}"] == plain[f"results/paper/figures/fig1.{kind}"]
    assert "figures/provenance.json" in plain

    changes = ("seed=1", "grid=tiny")
    run = make_plan("fig1", changes).run
    printed = checkout.snakemake("--cores", "2", "--config", "study=fig1", overrides(*changes))
    assert f"results/{run}" in printed
    assert checkout.files("results/paper") | checkout.files("figures") == plain
    assert {path.name for path in (checkout.root / "results").iterdir()} == {"paper", run}
    other = (checkout.root / "results" / run / "tables/fig1.parquet").read_bytes()
    assert other != plain["results/paper/tables/fig1.parquet"]
    assert (checkout.root / "results" / run / "figures/fig1.png").exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("replicatse=3", ["'replicatse'", "did you mean 'replicates'?", "valid: seed, replicates"]),
        (
            "protocol.fit.solver=magic",
            ["protocol.fit.solver", "valid: newton, cvxpy, cvxpy-matrix"],
        ),
    ],
)
def test_a_wrong_override_fails_before_any_work(wrong, said, checkout):
    printed = checkout.snakemake(
        "--cores", "1", "--config", "study=fig2", overrides(wrong), fails=True
    )
    assert all(part in printed for part in said), printed
    assert not (checkout.root / "results").exists()


BROKEN = """
def fit(Y, *, psi):
    raise RuntimeError("this model is broken on purpose")
"""


def test_a_failing_model_fails_alone(checkout):
    (checkout.root / "experiments/broken.py").write_text(BROKEN)
    gl = (checkout.root / "conf/model/gl.yaml").read_text(encoding="utf-8")
    broken = re.sub("^estimator: .*$", "estimator: experiments.broken.fit", gl, flags=re.MULTILINE)
    (checkout.root / "conf/model/broken.yaml").write_text(broken, encoding="utf-8")
    few = (
        "levels.noise=[0.0]",
        "study.models.independent=[broken, gl]",
        "study.models.dependent=[gl]",
    )
    printed = checkout.snakemake(
        "--cores", "2", "--config", "study=fig2", "run=broken", overrides(*SMALL, *few), fails=True
    )
    out = checkout.root / "results/broken"
    ready = {path.relative_to(out / "fits").as_posix() for path in (out / "fits").rglob("*.npz")}
    assert ready == {"sbm-independent/noise-0.0/gl.npz", "sbm-dependent/noise-0.0/gl.npz"}
    assert not (out / "tables/fig2.parquet").exists()
    log = (out / "logs/fit/sbm-independent/noise-0.0/broken.log").read_text()
    assert "Traceback (most recent call last)" in log
    assert 'broken.py", line 3, in fit' in log
    for text in (log, printed):
        assert "RuntimeError: this model is broken on purpose" in text
    assert "results/broken/logs" in printed
