"""The files that jobs depend on: those that they load, and no more than they may need."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from experiments.dependencies import data_sources, fingerprint, fit_sources, module_file, sources
from experiments.lookup import ROOT
from kgl.problem import MODELS

SCRIPTS = sorted(path.stem for path in (ROOT / "experiments/scripts").glob("*.py"))
#: Runs jobs on tiny data, one after the other, and prints which files of the repository each loads.
JOBS = """
import ast, json, runpy, sys
from pathlib import Path
from types import SimpleNamespace

root, work = Path.cwd(), Path(sys.argv[1])
seen = {}


def own():
    return {name for name in sys.modules if name.partition(".")[0] in ("kgl", "experiments")}


def note(job):
    found = {Path(sys.modules[n].__file__ or "").resolve() for n in own()}
    files = [path.relative_to(root).as_posix() for path in found if path.is_relative_to(root)]
    seen[job] = [name for name in files if name.endswith(".py")]
    for name in own():
        del sys.modules[name]


def run(script, job, output, params=None, given=None):
    fake = SimpleNamespace(log=[work / "log"], output=[str(work / output)], input=given,
                           params=SimpleNamespace(**params or {}),
                           wildcards=SimpleNamespace(study="a", level="one"))
    runpy.run_path(f"experiments/scripts/{script}.py", init_globals={"snakemake": fake})
    note(job)


for path in sorted(Path("experiments/scripts").glob("*.py")):
    body = ast.parse(path.read_text()).body
    body = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    exec(compile(ast.Module(body, []), str(path), "exec"), {})
    note(f"imports {path.stem}")

graph = {"m": 6, "density": 0.5, "alpha": 10.0, "weights": "uniform", "connected": True,
         "unit_variance": False, "family": "sbm", "options": {}}
data = {"n": 8, "noise": 0.1, "missing": 0.2, "bandwidth": "median_distance", "dependent": True}
handed = {"signal": True, "side": "covariates-1", "covariates": 3, "observations": "2"}
swiss = {"unit": "km", "bandwidth_x": "median_distance", "keep_one": True}
real = {**data, "n": 3, "source": "simulated", "options": swiss}
for make, graph, data in (
    ("custom_kernels.custom_kernels", graph, {**data, "options": handed}),
    ("real.swiss", {"family": "given", "m": 89, "density": 0.3}, real),
    ("synthetic.synthetic", graph, data),
):
    make = f"experiments.datasets.{make}"
    spec = {"make": make, "seed": 0, "replicates": 1, "graph": graph, "data": data}
    run("data", f"data {make}", "data.npz", {"specs": {"one": spec}})
for name, spec in json.loads(sys.argv[2]).items():
    params = {"models": {"mine": {"fit": spec, "code": ""}}, "kept": work / "kept"}
    run("fit", f"fit {name}", "fit.npz", params, SimpleNamespace(data=work / "data.npz"))
assert len(list((work / "kept").iterdir())) == len(json.loads(sys.argv[2]))  # none was kept before
score = {"cells": [(f"{work.name}/fit", {"model": "mine"})],
         "score": {"aps": "weights", "best": "replicate"}}
run("score", "score", "t.parquet", score, SimpleNamespace(files=[str(work / "fit.npz")]))
run("facts", "facts", "facts.parquet", {"about": {"files": "sushi", "source": "simulated"}})
run("claims", "claims", "claims.csv", {"tables": {"fig6": ""}, "simulated": ["fig6"]})
run("example", "example", "example.png")
print(json.dumps(seen))
"""


def fit_spec(estimator: str, axes: tuple[str, ...], solver: str = "newton") -> dict[str, Any]:
    fit = {"average": True, "tol": 1e-4, "max_iter": 3, "solver": solver, "backend": None}
    spec = {
        "estimator": estimator,
        "grid": {axis: [0.1] for axis in axes},
        "options": {},
        "fit": fit,
    }
    return {**spec, "keep": ["weights"]}


FITS = {
    "KGL": fit_spec("KGL", MODELS["KGL"].hyperparameters),
    "cvxpy": fit_spec("GL", MODELS["GL"].hyperparameters, "cvxpy"),
    "class": fit_spec("kgl.models.GL", MODELS["GL"].hyperparameters),
    "function": fit_spec("experiments.baselines.kernel_graph", ()),
}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    work = tmp_path_factory.mktemp("jobs")
    command = [sys.executable, "-c", JOBS, str(work), json.dumps(FITS)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return {job: set(files) for job, files in json.loads(done.stdout.splitlines()[-1]).items()}


@pytest.mark.parametrize("script", SCRIPTS)
def test_all_that_a_script_imports_is_among_its_sources(script, loaded):
    found = set(sources(script))
    assert loaded[f"imports {script}"] <= found
    assert f"experiments/scripts/{script}.py" in found
    assert all((ROOT / name).is_file() for name in found)


def test_all_that_a_job_loads_while_it_runs_is_among_its_sources(loaded):
    jobs = [job for job in loaded if not job.startswith("imports ")]
    assert len(jobs) == 3 + len(FITS) + 4
    for job in jobs:
        script, _, name = job.partition(" ")
        names = [script, name] if name else [script]
        known = fit_sources(FITS[name]) if script == "fit" else sources(*names)
        assert loaded[job] <= set(known), job


def test_what_decides_no_number_of_a_fit_is_not_among_its_sources() -> None:
    plain = set(fit_sources(FITS["KGL"]))
    assert {"kgl/solvers/graph_step.py", "experiments/fit.py", "kgl/problem.py"} <= plain
    drawing = {"kgl/plotting.py", "kgl/export.py", "experiments/figures/style.py"}
    assert not plain & (drawing | {"experiments/score.py", "experiments/plan.py"})
    # what only some fits load does not run the others again
    cvxpy, of_class = "kgl/solvers/cvxpy_step.py", "kgl/grid.py"
    found = {name: set(fit_sources(spec)) for name, spec in FITS.items()}
    assert {name for name in FITS if cvxpy in found[name]} == {"cvxpy"}
    assert of_class in found["class"]
    assert of_class not in found["KGL"] | found["cvxpy"]
    assert "kgl/plotting.py" not in found["class"]
    by_option = {**FITS["KGL"], "options": {"solver": "cvxpy-matrix"}}
    assert cvxpy in fit_sources(by_option)


def test_data_and_figures_depend_on_their_own_functions() -> None:
    real, drawn = "experiments/datasets/real.py", "experiments/datasets/custom_kernels.py"
    plain = sources("data", "experiments.datasets.synthetic.synthetic")
    assert real not in plain
    assert drawn not in plain
    assert real in sources("data", "experiments.datasets.real.swiss")
    assert drawn in sources("data", "experiments.datasets.custom_kernels.custom_kernels")
    # a job draws all levels of a kind, whatever functions draw them
    makes = ("synthetic.synthetic", "real.swiss", "synthetic.synthetic")
    specs = [{"make": f"experiments.datasets.{m}", "graph": {"family": "er"}} for m in makes]
    assert set(data_sources(*specs)) == {
        *plain,
        *sources("data", "experiments.datasets.real.swiss"),
    }
    own = {**specs[0], "graph": {"family": "kgl.plotting.plot_graph"}}
    assert "kgl/plotting.py" in data_sources(specs[0], own)
    curves = sources("figure", "experiments.figures.curves.recovery")
    assert {"experiments/figures/curves.py", "experiments/figures/style.py"} <= set(curves)
    assert "experiments/figures/robustness.py" not in curves


def test_files_of_functions_are_found_without_importing_them() -> None:
    assert module_file("kgl.kernels") == ROOT / "kgl/kernels/__init__.py"
    assert module_file("kgl.models") == ROOT / "kgl/models.py"
    assert module_file("json") is module_file("nosuch.module") is None
    assert "kgl/models.py" in sources("kgl.models.KGL")
    assert "kgl/models.py" in sources("kgl.models")
    assert sources("json.dumps") == sources("nosuch.module.f") == ()
    assert sources("GL-2step") == ()  # a model by name is part of the script


def test_modules_beside_a_configuration_are_followed(tmp_path, monkeypatch):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/config.yaml").touch()
    monkeypatch.setenv("KGL_CONF", str(tmp_path / "conf"))
    (tmp_path / "own_fit.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "from kgl.seeding import spawn\n"
        "try:\n    import kgl.folds\nexcept ImportError:\n    pass\n"
        "if TYPE_CHECKING:\n    from kgl.plotting import plot_graph\n"
        "def fit(Y):\n    import kgl.export\n"
    )
    found = sources("own_fit.fit")
    assert {Path(name).name for name in found} >= {"own_fit.py", "seeding.py", "folds.py"}
    assert not {"plotting.py", "export.py"} & {Path(name).name for name in found}
    assert all((ROOT / name).is_file() or Path(name).is_file() for name in found)


def test_a_fingerprint_follows_the_contents_of_files(tmp_path: Path) -> None:
    for name, text in (("a.py", "1"), ("b.py", "1"), ("c.py", "2")):
        (tmp_path / name).write_text(text)
    a, b, c = (fingerprint((str(tmp_path / name),)) for name in ("a.py", "b.py", "c.py"))
    assert a == b != c
