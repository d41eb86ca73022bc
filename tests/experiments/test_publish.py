"""What a run publishes: files of the gallery, its report, and what is recorded about it."""

from pathlib import Path

import pytest

from experiments import publish
from experiments.claims.specifications import STUDIES
from experiments.config import option
from experiments.inference.design import parts
from experiments.lookup import ROOT
from experiments.plan import Plan, make_plan
from experiments.registry import PROTOCOLS, split_protocol
from experiments.registry import STANDIN_SUFFIX as SUFFIX
from experiments.sums import SUMS

SIMULATED = ["data.source=simulated"]
#: Of each study: the picture, its numbers, and a row per replicate.
KINDS = ("png", "csv", "parquet")


def made_by(collection: str) -> list[str]:
    """Names of the studies of a collection, each under its protocols."""
    found = option("study", collection)
    under = found["protocols"].items()
    return [*found["studies"], *(f"{n}-{protocol}" for protocol, names in under for n in names)]


@pytest.fixture(scope="module")
def paper() -> Plan:
    """The paper's run without files of real data, whatever this machine has."""
    return make_plan("paper", SIMULATED)


@pytest.fixture(scope="module")
def smoke() -> Plan:
    return make_plan("smoke", SIMULATED)


def test_the_whole_run_of_the_paper_publishes_every_figure_table_and_record(paper: Plan) -> None:
    found = publish.published(paper)
    assert {str(Path(path).parent) for path in found} == {"figures"}
    for name in paper.studies:
        for kind in ("png", "csv"):
            assert found[f"figures/{name}.{kind}"] == f"results/paper/figures/{name}.{kind}"
        # a row per replicate, so that every interval can be computed again
        assert found[f"figures/{name}.parquet"] == f"results/paper/tables/{name}.parquet"
    records = (
        "provenance.json",
        "captions.json",
        "run.json",
        "jobs.csv",
        "facts.csv",
        "claims.csv",
    )
    for kind, end in (name.split(".") for name in records):
        source = found[f"figures/{kind}{SUFFIX}.{end}"]
        assert source == f"results/paper/{kind}/paper{SUFFIX}.{end}"
    assert f"figures/{publish.EXAMPLE}" in found
    assert len(found) == 3 * len(paper.studies) + len(records) + 1
    assert len(set(found.values())) == len(found)


def test_the_tracked_figures_are_those_that_a_run_publishes() -> None:
    names = [f"{n}.{k}" for n in made_by("paper") for k in KINDS]
    names += [f"{kind}.{end}" for kind, end in publish.RECORDS.items()]
    found = {path.name for path in (ROOT / "figures").iterdir() if SUFFIX not in path.name}
    # these have runs of their own
    for study in publish.APART:
        apart = {Path(path).name for path in publish.published(make_plan(study))}
        assert apart >= {f"{study}.{kind}" for kind in KINDS}
        assert all(name.partition(".")[0].startswith(study) for name in apart)
        assert found & apart in (set(), apart)
        found -= apart
    assert found == {*names, publish.EXAMPLE, SUMS}


def test_the_study_of_unstated_settings_publishes_its_figure_without_a_report() -> None:
    plan = make_plan("inference")
    assert publish.published(plan) == {
        "figures/inference.png": "results/inference/figures/inference.png",
        "figures/inference.csv": "results/inference/figures/inference.csv",
        "figures/inference.parquet": "results/inference/tables/inference.parquet",
    }
    assert publish.report_files(plan) == publish.claim_tables(plan) == {}
    (design,) = publish.designs(plan).values()
    files = publish.scored(plan, "inference")
    root = "results/inference/inference/inference/simulated"
    assert files == [f"{root}/{name}.npz" for name in parts(design)]
    assert len(files) == len(set(files)) > 100
    tiny = make_plan("inference_tiny")
    assert publish.published(tiny) == {}
    assert 0 < len(publish.scored(tiny, "inference_tiny")) < 10


def test_only_the_papers_own_run_changes_tracked_files(paper: Plan, smoke: Plan) -> None:
    for study, given in (("fig13", []), ("fig13", ["seed=1"]), ("smoke", ["seed=1"])):
        for protocol in (None, "printed"):
            plan = make_plan(study, given, protocol=protocol)
            assert publish.published(plan) == publish.report_files(plan) == {}
    shown = publish.published(smoke)
    assert {str(Path(path).parent) for path in shown} == {"results/smoke/gallery"}
    assert publish.report_files(smoke)["text"] == f"results/smoke/REPLICATION{SUFFIX}.md"
    # the paper under one protocol is shown in its own directory
    one = make_plan("paper", SIMULATED, protocol="described")
    shown = publish.published(one)
    assert {str(Path(path).parent) for path in shown} == {"results/paper-described/gallery"}
    assert f"results/paper-described/claims/paper-described{SUFFIX}.csv" in shown.values()
    assert publish.report_files(one)["text"] == f"results/paper-described/REPLICATION{SUFFIX}.md"
    # simulated data write a report of their own
    assert publish.report_files(paper) == {
        "text": f"results/paper/REPLICATION{SUFFIX}.md",
        "page": f"results/paper/report{SUFFIX}.html",
    }


def test_a_collection_of_synthetic_studies_has_a_tracked_report_only_as_the_paper() -> None:
    plan = Plan("paper", "paper", (), make_plan("fig12").studies, True)
    assert publish.report_files(plan) == {
        "text": "REPLICATION.md",
        "page": "results/paper/report.html",
    }
    assert "figures/claims.csv" in publish.published(plan)
    assert "figures/facts.csv" not in publish.published(plan)  # no real data


def test_a_preview_has_every_figure_of_the_paper_and_judges_nothing() -> None:
    plan = make_plan("preview", SIMULATED)
    paper = {name.partition("-")[0] for name in made_by("paper")}
    assert {s.option for s in plan.studies.values()} == {n for n in paper if n[3:].isdigit()}
    assert {s.name for s in plan.studies.values()} <= set(made_by("paper"))
    assert all("PREVIEW" in study.settings["notice"] for study in plan.studies.values())
    assert publish.claim_tables(plan) == publish.report_files(plan) == {}
    shown = publish.published(plan)
    assert {str(Path(path).parent) for path in shown} == {"results/preview/gallery"}
    assert not any("claims" in path for path in shown)


def test_claims_are_judged_by_the_tables_of_a_collection(paper: Plan) -> None:
    tables = publish.claim_tables(paper)
    for protocol in PROTOCOLS:
        name = f"limits_psi-{protocol}"
        assert tables[name] == f"results/paper/tables/{name}.parquet"
    assert tables["fig6"] == f"results/paper/tables/fig6{SUFFIX}.parquet"
    assert tables["facts-sushi"] == f"results/paper/tables/facts-sushi{SUFFIX}.parquet"
    assert {split_protocol(name)[0] for name in tables} <= {*STUDIES, "facts"}
    assert not any(name.startswith(("control", "robustness", "leak")) for name in tables)
    # claims about simulated data are not evaluated
    simulated = set(publish.simulated(paper))
    assert simulated & set(tables) == {"fig6", "fig7", "facts-swiss", "facts-sushi"}
    assert publish.claim_tables(make_plan("fig6", SIMULATED)) == {}


def test_figures_receive_their_study_and_the_arrays_that_they_read(paper: Plan) -> None:
    (cell,) = paper.studies["fig1"].cells
    assert publish.arrays(paper, "fig1", "fits") == [f"results/paper/fits/{cell.dataset}.npz"]
    group = cell.dataset.partition("/")[0]
    assert publish.arrays(paper, "fig1", "data") == [f"results/paper/data/{group}.npz"]
    for kind in ("fits", "data"):
        assert publish.arrays(paper, "fig2-printed", kind) == []
    drawn = publish.drawn(paper, f"fig6{SUFFIX}")
    assert drawn["simulated"] is True
    assert drawn["config"]["figure"] == paper.studies[f"fig6{SUFFIX}"].config["figure"]
    assert len(drawn["labels"]) == len(paper.studies[f"fig6{SUFFIX}"].cells)
    assert drawn["protocol"] == ""
    assert publish.drawn(paper, "fig2-printed")["protocol"] == "printed"


def test_a_table_reads_each_file_of_its_study_once(paper: Plan) -> None:
    for name, study in paper.studies.items():
        found = publish.scored(paper, name)
        assert len(found) == len(set(found))
        datasets = dict.fromkeys(cell.dataset for cell in study.cells)
        if study.cells:
            assert found == [f"results/paper/fits/{dataset}.npz" for dataset in datasets]
    cells = paper.studies["fig2-printed"].cells
    assert len(publish.scored(paper, "fig2-printed")) == len(cells) // 3
    # a figure reads its arrays cell by cell; all levels of one kind of data are in one file
    imputed = f"swiss_imputed{SUFFIX}"
    cells = paper.studies[imputed].cells
    fits = publish.arrays(paper, imputed, "fits")
    assert fits == [f"results/paper/fits/{cell.dataset}.npz" for cell in cells]
    data = publish.arrays(paper, imputed, "data")
    assert data == [str(Path(path).parent).replace("/fits/", "/data/") + ".npz" for path in fits]
    assert len(cells) > 1


def test_captions_go_by_the_name_of_the_study(paper: Plan) -> None:
    found = publish.captions(paper)
    assert set(found) == {study.name for study in paper.studies.values()}
    numbers = {name: about["figure"] for name, about in found.items()}
    assert (numbers["fig6"], numbers["fig2-printed"], numbers["fig2-described"]) == (6, 2, 2)
    assert numbers["h1-printed"] is None
    study = paper.studies["fig2-printed"]
    assert found["fig2-printed"]["caption"] == study.caption
    assert found["fig2-printed"]["title"] == study.config["title"]
    assert found["fig2-described"]["caption"] != study.caption


def test_the_record_of_a_run_follows_its_settings_alone(paper: Plan, smoke: Plan) -> None:
    record = publish.record(make_plan("fig13", ["seed=1"], "mine"))
    assert record == publish.record(make_plan("fig13", ["seed=1"], "mine"))
    assert (record["name"], record["overrides"]) == ("mine", ["seed=1"])
    other = publish.record(make_plan("fig13", ["seed=2"], "mine"))
    assert record["cells"] != other["cells"]
    assert publish.record(paper)["cells"] != publish.record(smoke)["cells"]
    # of each protocol the settings that most of its studies share; controls differ
    found = publish.record(paper)["protocols"]
    assert set(found) == {"", *PROTOCOLS}
    for protocol in PROTOCOLS:
        assert found[protocol] == paper.studies[f"fig2-{protocol}"].settings["protocol"]
        assert found[protocol] != paper.studies[f"cv_noise-{protocol}"].settings["protocol"]
    assert set(publish.record(make_plan("fig2", protocol="printed"))["protocols"]) == {"printed"}
    assert publish.record(make_plan("fig6", SIMULATED))["protocols"] == {}


def test_every_job_that_costs_has_a_benchmark(paper: Plan) -> None:
    found = publish.benchmarks(paper)
    listed = [path for paths in found.values() for path in paths]
    assert len(listed) == len(set(listed))
    jobs = (paper.groups, paper.datasets, paper.studies)
    assert len(listed) == sum(map(len, jobs))
    assert {"data", "score", "fit dependent, missing"} <= set(found)
    assert "results/paper/benchmarks/data/sbm-dependent-printed.tsv" in found["data"]
    fits = [path for kind, paths in found.items() if kind.startswith("fit ") for path in paths]
    assert sorted(fits) == sorted(f"results/paper/benchmarks/fit/{n}.tsv" for n in paper.datasets)
    assert "results/paper/benchmarks/score/fig2-printed.tsv" in found["score"]


@pytest.mark.parametrize(
    "study",
    [
        "inference",
        "inference_tiny",
    ],
)
def test_every_simulation_has_a_benchmark(study: str) -> None:
    plan = make_plan(study)
    (design,) = publish.designs(plan).values()
    root = f"results/{study}/benchmarks/simulate/{study}"
    found = publish.benchmarks(plan)["simulation"]
    assert found == [f"{root}/{name}.tsv" for name in parts(design)]
