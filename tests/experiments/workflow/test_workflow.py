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

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from experiments import publish
from experiments.claims import ALL
from experiments.config import option
from experiments.io import _host, array_digest, digest, load_arrays, load_fits, load_table
from experiments.plan import make_plan
from experiments.registry import CV, Verdict
from experiments.report import load
from experiments.report.render import gather, markdown, page

SMOKE = "study=smoke"
#: As the copies make it, which have no real data.
PLAN = make_plan("smoke", ["data.source=simulated"])
OUT = PLAN.directory
MODELS = {"gl", "gl2step", "kgln", "kglo", "kgl", "kglagnostic"}
FITS = frozenset(f"{OUT}/fits/{name}.npz" for name in PLAN.datasets)
#: Where every fit of a model is kept by what it is made from.
KEPT = "results/.fits"
PUBLISHED = publish.published(PLAN)
CLAIM_TABLES, REPORT = publish.claim_tables(PLAN), publish.report_files(PLAN)
#: One file for each kind of data, with all of its levels.
DATA = frozenset(f"{OUT}/data/{name}.npz" for name in PLAN.groups)
EVERY = {name for name, study in PLAN.studies.items() if study.cells}
INFERRED = set(publish.designs(PLAN))
SIMULATED = {path for name in INFERRED for path in publish.simulated_parts(PLAN, name)}
PICTURES = {name: study for name, (study, _) in publish.pictures(PLAN).items()}
OWN = publish.measured_studies(PLAN)
#: Studies with jobs of their own, those that simulate among them, their jobs and their pictures.
TRUST = {name for name, study in OWN.items() if study.kind == "trust"}
MEASURED = {path for name in OWN for path in publish.measured_parts(PLAN, name)}
TRUSTED = {path for name in TRUST for path in publish.measured_parts(PLAN, name)}
#: Studies of their own whose data are simulated.
DRAWN = {name for name, study in OWN.items() if study.kind in ("trust", "arena")}
DRAWN_PARTS = {path for name in DRAWN for path in publish.measured_parts(PLAN, name)}
DRAWN_PICTURES = {name for name, study in PICTURES.items() if study in DRAWN}
OWN_PICTURES = {name for name, study in PICTURES.items() if study in OWN}
TRUST_PICTURES = {name for name, study in PICTURES.items() if study in TRUST}
#: Rules that gather results.
GATHER = {"claims", "summary", "publish", "verdict", "example"}
#: The settings of the smoke run, so that one study of it can be run by itself.
SMALL = option("study", "smoke")["overrides"]


def overrides(*texts):
    """Write overrides as on the command line."""
    return f"overrides=[{','.join(json.dumps(text) for text in texts)}]"


def fits_of(cells):
    """Files of the datasets of some cells."""
    return {f"{OUT}/fits/{cell.dataset}.npz" for cell in cells}


def data_of(dataset):
    """The file that has the data of a dataset."""
    return f"{OUT}/data/{dataset.partition('/')[0]}.npz"


def stamps(checkout):
    """When each kept fit was written."""
    found = (checkout.root / KEPT).glob("[!.]*.npz")
    return {path.name: path.stat().st_mtime_ns for path in found}


def pending(checkout):
    """Outputs of the jobs that a run would take, by rule; tables and figures by their study.

    Rules that gather results are checked here: they follow the rest.
    """
    found = defaultdict(set)
    for job in checkout.pending(SMOKE):
        short = job.rule in ("score", "figure", "facts", "infer", "gather")
        found[job.rule] |= {Path(path).stem if short else path for path in job.outputs}
    tables = found.get("score", set()) | found.get("facts", set())
    judged = {Path(path).stem for path in CLAIM_TABLES.values()}
    # the summary also has the captions and what the pictures cost
    assert ("summary" in found) == bool(tables or found.get("figure"))
    assert ("claims" in found) >= bool(judged & tables)
    assert ("publish" in found) == bool(found.keys() & {"figure", "claims", "summary", "example"})
    assert ("verdict" in found) >= ("publish" in found)
    return {rule: outputs for rule, outputs in found.items() if rule not in GATHER}


# -- one whole run ------------------------------------------------------------------------------


def test_the_copy_runs_its_own_code(smoke):
    probe = "import kgl, experiments; print(kgl.__file__); print(experiments.__file__)"
    command = [sys.executable, "-c", probe]
    shown = subprocess.run(
        command, cwd=smoke.root, env=smoke.environment, capture_output=True, text=True, check=True
    )
    assert all(Path(line).is_relative_to(smoke.root) for line in shown.stdout.splitlines())


def test_every_rule_ran(smoke):
    names = ("Snakefile", "experiments/inference/rules.smk", "experiments/measured.smk")
    files = (smoke.root / name for name in names)
    text = "\n".join(path.read_text() for path in files)
    rules = re.findall(r"^ *rule (\w+):", text, re.MULTILINE)
    logs = smoke.root / OUT / "logs"
    names = {path.relative_to(logs).parts[0].removesuffix(".log") for path in logs.rglob("*.log")}
    # a tracked text is rendered from published tables alone
    assert names == set(rules) - {"all", "page"}
    for log in logs.rglob("*.log"):
        assert "Traceback" not in log.read_text(encoding="utf-8"), log


def test_all_models_are_in_the_tables(smoke):
    tables = {
        name: load_table(smoke.root / OUT / f"tables/{name}.parquet")[0] for name in PLAN.studies
    }
    for name in ("fig2-printed", "fig2-described", "fig3-described"):
        assert set(tables[name]["model"]) == MODELS
    assert {name for name in tables if name not in EVERY} == INFERRED | set(OWN)
    inferred = tables.pop("inference_tiny")
    for name in OWN:
        assert (tables.pop(name)["error"].fillna("") == "").all()
    assert {"printed", "described"} <= set(inferred.loc[inferred["table"] == "named", "name"])
    for name, table in tables.items():
        assert set(table["study"]) == {name}
        assert set(table["replicate"]) == {0, 1}
        assert set(PLAN.studies[name].config["metrics"]) <= set(table["metric"])
        labels = list(table.columns[: table.columns.get_loc("replicate")])
        assert len(table.drop_duplicates(labels)) == len(PLAN.studies[name].cells)


@pytest.mark.parametrize("picture", PICTURES)
def test_every_study_has_its_figures(picture, smoke):
    path = smoke.root / OUT / "figures" / picture
    assert min(imread(path.with_suffix(".png")).shape[:2]) > 100
    assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
    assert len(pd.read_csv(path.with_suffix(".csv"))) > 0


def test_the_run_says_where_it_comes_from(smoke):
    name = f"smoke{PLAN.suffix}"
    path = smoke.root / OUT / f"provenance/{name}.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["run"]["name"] == "smoke"
    assert set(record["tables"]) == set(PLAN.studies)
    assert set(record["run"]["protocols"]) == {"", "printed", "described"}
    for name_of, protocol in record["run"]["protocols"].items():
        if name_of:  # figure 1 has a size of its own
            assert (protocol["data"]["m"], protocol["data"]["n"]) == (8, 12)
    cost = pd.read_csv(smoke.root / OUT / f"jobs/{name}.csv")
    jobs = sum(map(len, (DATA, FITS, EVERY, SIMULATED, MEASURED)))
    assert cost["jobs"].sum() == jobs
    about = json.loads((smoke.root / OUT / f"run/{name}.json").read_text(encoding="utf-8"))
    assert about["jobs"] == jobs
    assert 0 < about["wall_seconds"] < 3600
    assert about["machine"]["cores"] >= 1
    captions = json.loads((smoke.root / OUT / f"captions/{name}.json").read_text(encoding="utf-8"))
    assert captions == publish.captions(PLAN)
    facts = pd.read_csv(smoke.root / OUT / f"facts/{name}.csv")
    assert set(facts["files"]) == {"swiss", "sushi"}
    assert set(facts["source"]) == {"simulated"}


def test_every_fit_is_in_the_file_of_its_dataset_and_kept(smoke):
    kept = {}
    for path in (smoke.root / KEPT).iterdir():
        arrays, record = load_arrays(path)
        kept[digest([record["settings"]["data"], record["settings"]["fit"]])] = arrays
    found = set()
    for name, cells in PLAN.datasets.items():
        data, _ = load_arrays(smoke.root / data_of(name), name.partition("/")[2])
        fits, record = load_fits(smoke.root / f"{OUT}/fits/{name}.npz")
        assert list(fits) == [cell.model for cell in cells]
        assert record["settings"]["fits"] == {cell.model: cell.fit for cell in cells}
        for cell in cells:
            key = digest([array_digest(data), cell.fit])
            assert bytes_of(kept[key]) == bytes_of(fits[cell.model])
            found.add(key)
    assert found == set(kept)


def bytes_of(arrays):
    return {name: (str(a.dtype), a.shape, a.tobytes()) for name, a in arrays.items()}


def test_the_gallery_has_what_the_plan_says_and_no_more(smoke):
    gallery = smoke.root / OUT / "gallery"
    assert {f"{OUT}/gallery/{path.name}" for path in gallery.iterdir()} == {
        *PUBLISHED,
        *publish.sums(PLAN),
    }
    for shown, made in PUBLISHED.items():
        assert (smoke.root / shown).read_bytes() == (smoke.root / made).read_bytes()
    assert not (smoke.root / "figures").exists()
    assert not (smoke.root / "REPLICATION.md").exists()


def test_the_report_is_made_from_the_gallery(smoke):
    report = gather(load(smoke.root / OUT / "gallery"))
    text = (smoke.root / REPORT["text"]).read_text(encoding="utf-8")
    assert text == markdown(report)
    assert "SIMULATED STAND-IN" in text
    shown = (smoke.root / REPORT["page"]).read_text(encoding="utf-8")
    assert shown == page(report)
    fetched = Fetched()
    fetched.feed(shown)
    assert not [address for address in fetched.addresses if not address.startswith("#")]


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
        found = results[f"{OUT}/figures/{name}.png"]
        text = html.unescape(re.sub(r"<[^>]+>", "", found["caption"]))
        assert text.split() == study.caption.split()
        assert found["data_uri"].startswith("data:image/png;")
    # the page does not need the files beside it
    assert not (finished.root / "report").exists()


# -- what runs again ----------------------------------------------------------------------------


def test_a_removed_intermediate_file_is_made_again(finished):
    """A corrupt file is to be removed: the next run must not report success without it."""
    fit, table = min(FITS), f"{OUT}/tables/fig2-printed.parquet"
    for path in (fit, table):
        (finished.root / path).unlink()
    made = {path for job in finished.pending(SMOKE) for path in job.outputs}
    assert {fit, table} <= made


def test_a_second_run_has_nothing_to_do(finished):
    """Not even after files were touched, or a module edited that no job uses."""
    for path in ("kgl/simulate.py", "kgl/solvers/graph_step.py", "experiments/figures/style.py"):
        (finished.root / path).touch()
    finished.append("kgl/oracle.py")
    before = finished.files(OUT)
    assert "Nothing to be done" in finished.snakemake("--cores", "1", "--config", SMOKE)
    assert finished.files(OUT) == before


def test_an_edited_model_is_fitted_again_and_no_other(finished):
    finished.replace("conf/model/kglo.yaml", "lam: ${grid.lam_identity}", "lam: [0.03, 3.0]")
    cells = [cell for cell in PLAN.cells.values() if cell.model == "kglo"]
    # jobs of the datasets that have the model, and then of the studies that read their files
    mine = fits_of(cells)
    assert len(mine) == len(cells) < len(FITS)
    concerned = studies_with(lambda cell: fits_of([cell]) <= mine)
    assert (
        {"fig2-printed", "fig3-described", "fig4-described", f"fig6{SUFFIX}"} <= concerned < EVERY
    )
    assert pending(finished) == {"fit": mine, "score": concerned, "figure": concerned}
    # and so it does, as far as the tables
    before = finished.files(f"{OUT}/fits") | finished.files(f"{OUT}/data")
    tables, kept = finished.files(f"{OUT}/tables"), stamps(finished)
    old = {path: load_fits(finished.root / path)[0] for path in mine}
    finished.snakemake("--cores", "2", "--until", "score", "--config", SMOKE)
    after = finished.files(f"{OUT}/fits") | finished.files(f"{OUT}/data")
    assert {path for path in after if after[path] != before[path]} == mine
    # the other models of these datasets are not fitted again
    now = stamps(finished)
    assert {name: now.get(name) for name in kept} == kept
    assert len(now) == len(kept) + len(cells)
    for path, fits in old.items():
        new, _ = load_fits(finished.root / path)
        assert list(new) == list(fits)
        same = {model for model in fits if bytes_of(new[model]) == bytes_of(fits[model])}
        assert same == set(fits) - {"kglo"}
    changed = {p for p, content in finished.files(f"{OUT}/tables").items() if content != tables[p]}
    assert {Path(path).stem for path in changed} == concerned
    table, _ = load_table(finished.root / OUT / "tables/fig2-printed.parquet")
    assert set(table.loc[table["model"] == "kglo", "lam"]) <= {0.03, 3.0}


FACTS = {f"facts-{name}" for name in PLAN.facts}
REAL = {name for name, study in PLAN.studies.items() if study.simulated}
SUFFIX = "-SIMULATED-STAND-IN"
REAL_DATA = frozenset(path for path in DATA if SUFFIX in path)


def drawn_by(*modules):
    """Names of the studies whose figures are functions of some modules."""
    drawn = publish.pictures(PLAN)
    figures = {name: study.config["figure"] for name, (_, study) in drawn.items()}
    return {name for name, figure in figures.items() if figure.partition(".")[0] in modules}


CONTROLLED_FITS = fits_of(c for c in PLAN.cells.values() if "custom_kernels" in c.data["make"])
CONTROLLED = frozenset(
    f"{Path(path).parent}.npz".replace("/fits/", "/data/") for path in CONTROLLED_FITS
)


def studies_with(wanted):
    """Names of the studies that have a cell of a kind."""
    return {name for name, study in PLAN.studies.items() if any(map(wanted, study.cells))}


ALL_TABLES = {"score": EVERY, "figure": EVERY}
#: What simulations decide: all of the study of unstated settings.
INFER = {
    "simulate": SIMULATED,
    "search": {f"{OUT}/inference/{name}/search.parquet" for name in INFERRED},
    "confirm": {
        f"{OUT}/inference/{name}/confirmed/{kind}-0.parquet"
        for name in INFERRED
        for kind in ("printed", "sentences")
    },
    "infer": INFERRED,
}


@pytest.mark.parametrize(
    "edits",
    [
        # one dry run for several edits, where what one decides has nothing in common with the rest
        {
            "experiments/figures/maps.py": {"figure": drawn_by("maps")},
            "experiments/datasets/custom_kernels.py": {
                "data": CONTROLLED,
                "fit": CONTROLLED_FITS,
                "score": drawn_by("controls"),
                "measure": TRUSTED,
                "gather": TRUST,
                "figure": drawn_by("controls") | TRUST_PICTURES,
            },
            "experiments/claims/evidence.py": {},
        },
        {
            "kgl/plotting.py": {"figure": drawn_by("viewpoint")},
            "experiments/report/informativeness.py": {},
        },
        {"experiments/figures/style.py": {"figure": EVERY | INFERRED | OWN_PICTURES}},
        {"experiments/score.py": {**ALL_TABLES, "figure": EVERY | INFERRED | OWN_PICTURES}},
        # a graph step makes the ground truth of the Swiss data
        {
            "kgl/solvers/graph_step.py": {
                "data": REAL_DATA,
                "facts": FACTS,
                "fit": FITS,
                **ALL_TABLES,
                **INFER,
                "measure": MEASURED,
                "gather": set(OWN),
                "figure": EVERY | INFERRED | OWN_PICTURES,
            }
        },
        {
            "kgl/simulate.py": {
                "data": DATA,
                "facts": FACTS,
                "fit": FITS,
                **ALL_TABLES,
                **INFER,
                "measure": DRAWN_PARTS,
                "gather": DRAWN,
                "figure": EVERY | INFERRED | DRAWN_PICTURES,
            }
        },
    ],
    ids=lambda edits: "+".join(Path(path).stem for path in edits),
)
def test_edited_code_reruns_what_it_decides(edits, finished):
    expected = defaultdict(set)
    for path, decided in edits.items():
        finished.append(path)
        for rule, outputs in decided.items():
            assert outputs
            assert not outputs & expected[rule]
            expected[rule] |= outputs
    assert pending(finished) == expected


def test_a_new_color_redraws(finished):
    finished.replace("conf/model/kglo.yaml", "#009E73", "#117733")
    assert pending(finished) == {"figure": studies_with(lambda cell: cell.model == "kglo")}


def test_new_settings_of_the_data_reach_the_fits(finished):
    finished.replace("conf/data/dependent.yaml", "noise: 0.01", "noise: 0.02")
    # figure 2 sweeps over the noise, so its cells do not depend on the default; the data of its
    # levels are in a file with others, though, where a study of the same protocol has any
    changed = {
        name
        for name, (cell, *_) in PLAN.datasets.items()
        if cell.labels["data"] == "dependent" and "/noise-" not in name
    }
    found = pending(finished)
    assert found["data"] == set(map(data_of, changed))
    touched = {name for name in PLAN.datasets if data_of(name) in found["data"]}
    assert found["fit"] == {f"{OUT}/fits/{name}.npz" for name in touched}
    concerned = studies_with(lambda cell: cell.dataset in touched)
    assert {"fig2-described", "fig3-described", "fig5-described"} <= concerned
    # data of controls have a noise of their own
    assert not concerned & ({"fig2-printed", "control_kx-described"} | REAL)
    assert found["score"] == concerned


# -- real data ----------------------------------------------------------------------------------


def test_a_stand_in_says_so_wherever_it_is_met(smoke):
    assert {study.name for study in PLAN.studies.values() if study.simulated} == {
        *("fig6", "swiss_map", "fig7", "sushi_graph"),
    }
    for name in REAL:
        assert name.endswith(SUFFIX)
        table, _ = load_table(smoke.root / OUT / f"tables/{name}.parquet")
        assert set(table["study"]) == {name}
        numbers = pd.read_csv(smoke.root / OUT / f"figures/{name}.csv")
        assert set(numbers["source"]) == {"SIMULATED STAND-IN"}
    # and nothing of theirs has the name of what is real
    words = ("swiss", "sushi", "fig6", "fig7", "REPLICATION", "report")
    words += ("claims/", "facts/", "captions/", "run/", "jobs/", "provenance/")
    for path in (path for path in (smoke.root / OUT).rglob("*") if path.is_file()):
        name = path.relative_to(smoke.root / OUT).as_posix()
        assert SUFFIX in name or not any(word in name for word in words), name
    synthetic = pd.read_csv(smoke.root / OUT / "figures/fig2-printed.csv")
    assert "source" not in synthetic


def test_the_last_lines_of_a_run_say_what_was_simulated(smoke):
    printed = (smoke.root / "printed.txt").read_text(encoding="utf-8")
    done = printed.index("[kgl] run smoke done")
    end = printed[done:]
    for text in ("SIMULATED STAND-IN for swiss", "SIMULATED STAND-IN for sushi", "fig6", "fig7"):
        assert text in end
    assert "claims are not evaluated" in end
    assert "SIMULATED STAND-IN for swiss" in printed[:done]  # and the first ones too


def test_no_claim_is_evaluated_on_a_stand_in(smoke):
    claims = pd.read_csv(smoke.root / OUT / f"claims/smoke{SUFFIX}.csv")
    # A3 is about times, H5 about lam and H6 about rho: the smoke run has none of these studies
    assert set(claims["claim"]) == {claim.id for claim in ALL} - {"A3", "H5", "H6"}
    real = claims["claim"].str[0].isin(["W", "U"])
    assert set(claims.loc[real, "verdict"]) == {Verdict.NOT_EVALUATED}
    assert claims.loc[real, ["estimate", "holds"]].isna().all(axis=None)
    # the others are judged, unless the small run lacks a family or level
    others = claims[~real]
    judged = others[others["verdict"] != Verdict.NOT_EVALUATED]
    assert {"N", "Y", "H", "A"} <= set(judged["claim"].str[0])
    assert judged["holds"].notna().all()
    assert others.loc[others["verdict"] == Verdict.NOT_EVALUATED, "holds"].isna().all()


def test_points_are_tuned_by_cross_validation_and_graphs_have_their_density(smoke):
    table, _ = load_table(smoke.root / OUT / f"tables/fig6{SUFFIX}.parquet")
    chosen = table[table["selected_by"] == CV]
    assert set(chosen["model"]) == set(table["model"]) == MODELS | {"kernel_sparse"}
    shares = chosen[chosen["metric"] == "density"].set_index("model")["value"]
    assert shares[["kgl", "kgln"]].between(0.28, 0.32).all()
    assert shares["kernel_sparse"].between(0.28, 0.32).all()
    found = table[table["model"] == "kgl"]
    assert (found["psi"] > 0).all()
    assert set(found["density"]) == {0.3}
    arrays, _ = load_arrays(smoke.root / OUT / f"data/stations-swiss{SUFFIX}.npz", "missing-0.2")
    assert np.count_nonzero(arrays["W"][0]) / (89 * 88) == pytest.approx(0.3, abs=0.01)


def test_real_data_that_are_not_there_fail_before_any_work(finished):
    before = finished.files("results")
    printed = finished.snakemake(
        "--cores", "1", "--config", SMOKE, overrides("data.source=real"), fails=True
    )
    assert "data.source = real, but the Swiss temperatures were not found" in printed
    assert "data/README.md" in printed
    assert "rule " not in printed
    assert finished.files("results") == before


def test_a_spoiled_file_fails_before_any_work(finished, tmp_path):
    before = finished.files("results")
    spoiled = tmp_path / "mine/swiss/temperature.mat"
    spoiled.parent.mkdir(parents=True)
    spoiled.write_bytes(b"rain")
    printed = finished.snakemake(
        *("--cores", "1", "--config", SMOKE), fails=True, KGL_DATA_DIR=str(tmp_path / "mine")
    )
    assert f"{spoiled} is not the file it should be" in printed
    assert "rule " not in printed
    assert finished.files("results") == before
    assert spoiled.read_bytes() == b"rain"
    # unless it was said that it is not wanted
    asked = finished.snakemake(
        *("--dry-run", "--config", SMOKE, overrides("data.source=simulated")),
        KGL_DATA_DIR=str(tmp_path / "mine"),
    )
    assert "Nothing to be done" in asked


# -- how it is run does not matter --------------------------------------------------------------


def results_of(checkout, out):
    """Table and drawn numbers of figure 2 under one protocol."""
    paths = (f"{out}/tables/fig2-printed.parquet", f"{out}/figures/fig2-printed.csv")
    return [(checkout.root / path).read_bytes() for path in paths]


FIG2 = ("study=fig2", "protocol=printed", "run=again", overrides(*SMALL))


def test_a_killed_run_goes_on_with_any_number_of_cores(smoke, checkout):
    """Begun on one core, killed and ended on two, figure 2 has the bytes of the smoke run."""
    plan = make_plan("fig2", SMALL, protocol="printed")

    def done(*kinds):
        folders = [checkout.root / "results/again" / kind for kind in kinds]
        return {path for folder in folders for path in folder.rglob("[!.]*.npz")}

    process = subprocess.Popen(
        checkout.command("--cores", "1", "--config", *FIG2),
        cwd=checkout.root,
        env=checkout.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # a process group of its own, jobs included
    )
    try:
        end = time.monotonic() + 300
        while not done("fits"):
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    ready = {path: path.stat().st_mtime_ns for path in done("data", "fits")}
    kept = stamps(checkout)
    # the next job takes longer to start than this test to look
    assert 1 <= len(done("fits")) < len(plan.datasets)
    assert 3 <= len(kept) < len(plan.cells)
    assert not (checkout.root / "results/again/tables/fig2-printed.parquet").exists()

    # what a job leaves that is killed while it writes
    stray = checkout.root / f"results/again/fits/.half.{_host()}-{process.pid}.part.npz"
    stray.write_bytes(b"half")

    # the same command goes on, without any other step
    checkout.snakemake("--cores", "2", "--config", *FIG2)
    assert not list((checkout.root / "results").rglob(".*.part*"))
    assert (len(done("fits")), len(done("data"))) == (len(plan.datasets), len(plan.groups))
    # at most the one job that was under way, finished but not yet noted down, runs again
    again = [path for path, stamp in ready.items() if path.stat().st_mtime_ns != stamp]
    assert len(again) <= 1
    # and no model is fitted twice
    now = stamps(checkout)
    assert len(now) == len(plan.cells)
    assert {name: now.get(name) for name in kept} == kept
    assert results_of(checkout, "results/again") == results_of(smoke, OUT)


# -- overrides and failures ---------------------------------------------------------------------


def test_overrides_leave_the_plain_run_alone(checkout):
    """The plain run (here of one figure) is published; one with overrides is kept apart."""
    (checkout.root / "conf/study/paper.yaml").write_text("studies: [fig1]\n")
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
    results = {path.name for path in (checkout.root / "results").iterdir()}
    assert results == {"paper", run, ".running", ".fits"}
    other = (checkout.root / "results" / run / "tables/fig1.parquet").read_bytes()
    assert other != plain["results/paper/tables/fig1.parquet"]
    assert (checkout.root / "results" / run / "figures/fig1.png").exists()

    # what is tracked outlives a job that fails
    checkout.replace("experiments/scripts/publish.py", "import shutil", "raise OSError('no room')")
    assert "no room" in checkout.snakemake("--cores", "1", fails=True)
    assert checkout.files("figures") == {k: v for k, v in plain.items() if k.startswith("figures")}


def test_a_wrong_override_fails_before_any_work(checkout):
    printed = checkout.snakemake(
        "--cores", "1", "--config", "study=fig2", overrides("replicatse=3"), fails=True
    )
    assert all(part in printed for part in ["'replicatse'", "did you mean 'replicates'?"]), printed
    assert not (checkout.root / "results").exists()
    printed = checkout.snakemake("--cores", "1", "--config", "protocol=describd", fails=True)
    assert "did you mean 'described'?" in printed
    assert not (checkout.root / "results").exists()


def test_a_misspelt_key_is_not_the_whole_paper(checkout):
    printed = checkout.snakemake("--cores", "1", "--config", "stdy=fig2", fails=True)
    assert "did you mean 'study'?" in printed


BROKEN = """
def fit(Y, *, psi):
    raise RuntimeError("this model is broken on purpose")
"""
REPAIRED = """
import numpy as np
def fit(Y, *, psi):
    return 1.0 - np.eye(Y.shape[1])
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
    config = ("--config", "study=fig2", "protocol=printed", "run=broken", overrides(*SMALL, *few))
    printed = checkout.snakemake("--cores", "2", *config, fails=True)
    out = checkout.root / "results/broken"
    ready = {path.relative_to(out / "fits").as_posix() for path in (out / "fits").rglob("*.npz")}
    assert ready == {"sbm-dependent-printed/noise-0.0.npz"}
    assert not (out / "tables/fig2-printed.parquet").exists()
    log = (out / "logs/fit/sbm-independent-printed/noise-0.0.log").read_text()
    assert "Traceback (most recent call last)" in log
    assert 'broken.py", line 3, in fit' in log
    for text in (log, printed):
        assert "RuntimeError: this model is broken on purpose" in text
    assert "results/broken/logs" in printed

    # the other model of its dataset is kept: once it is repaired, it alone is fitted
    kept = stamps(checkout)
    assert len(kept) == 2
    (checkout.root / "experiments/broken.py").write_text(REPAIRED)
    checkout.snakemake("--cores", "2", "--until", "fit", *config)
    now = stamps(checkout)
    assert {name: now.get(name) for name in kept} == kept
    assert len(now) == 3
    fits, _ = load_fits(out / "fits/sbm-independent-printed/noise-0.0.npz")
    assert list(fits) == ["broken", "gl"]
