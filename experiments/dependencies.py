"""Which source files a job depends on: the modules that its script imports, directly or not."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from experiments.io import digest
from experiments.lookup import ROOT, conf_dir

__all__ = ["data_sources", "fingerprint", "fit_sources", "module_file", "sources"]

_OWN = ("kgl", "experiments")
#: What scripts load only while they run.
_LATER = {
    "example": ("kgl.datasets", "kgl.bayesian", "kgl.plotting"),
}


def _roots() -> tuple[Path, ...]:
    # functions that a configuration elsewhere (KGL_CONF) names may lie beside it
    return tuple(dict.fromkeys((ROOT, conf_dir().parent)))


def module_file(module: str) -> Path | None:
    """Return the file of a module of the repository, without importing it."""
    for root in _roots():
        base = root.joinpath(*module.split("."))
        for file in (base.with_suffix(".py"), base / "__init__.py"):
            if file.is_file():
                return file
    return None


def _imports(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield what a module imports when it is loaded; imports inside functions are left out."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Try | ast.With):
            yield from _imports(node.body)


@cache
def _imported(file: Path) -> frozenset[Path]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    modules = [name for name in _imports(tree.body) if name.partition(".")[0] in _OWN]
    # a package runs its own __init__ first
    parents = [m[:k] for m in modules for k in range(len(m)) if m[k] == "."]
    found = (module_file(name) for name in {*modules, *parents})
    return frozenset(path for path in found if path is not None)


def sources(*names: str) -> tuple[str, ...]:
    """Return the files that scripts and functions depend on, relative to the repository.

    Parameters
    ----------
    *names : str
        Scripts by name (``fit``), functions by dotted path (``kgl.models.KGL``), or modules; what
        lies outside the repository is left out. An edit of one of the files runs the job again.

    Examples
    --------
    >>> "kgl/solvers/graph_step.py" in sources("fit"), "kgl/plotting.py" in sources("fit")
    (True, False)
    """
    return _closure(conf_dir(), names)


@cache
def _closure(_: Path, names: tuple[str, ...]) -> tuple[str, ...]:
    later = [name for script in names for name in _LATER.get(script, ())]
    modules = [n if "." in n else f"experiments.scripts.{n}" for n in (*names, *later)]
    found = [module_file(name) or module_file(name.rpartition(".")[0]) for name in modules]
    todo, seen = {file for file in found if file is not None}, set[Path]()
    while todo:
        seen |= todo
        todo = {other for file in todo for other in _imported(file)} - seen
    shown = [path.relative_to(ROOT) if path.is_relative_to(ROOT) else path for path in seen]
    return tuple(sorted(path.as_posix() for path in shown))


def data_sources(*specs: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the files that datasets depend on, their families of graphs among them."""
    families = [spec["graph"]["family"] for spec in specs]
    names = [*(spec["make"] for spec in specs), *(name for name in families if "." in name)]
    return sources("data", *dict.fromkeys(names))


def fit_sources(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the files that a fit depends on; CVXPY and classes are loaded where they are used."""
    names = ["fit", str(spec["estimator"])]
    names += ["kgl.grid"] * ("." in names[1])
    solver = {**spec["fit"], **spec["options"]}.get("solver")
    return sources(*names, *["kgl.solvers.cvxpy_step"] * (solver != "newton"))


@cache
def fingerprint(files: tuple[str, ...]) -> str:
    """Return a name for the contents of source files: a parameter of jobs, which an edit reruns.

    As inputs, some forty files for each job would take Snakemake much longer to plan.
    """
    return digest([(ROOT / file).read_text(encoding="utf-8") for file in files])
