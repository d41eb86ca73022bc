"""What the site has beyond the Markdown pages: front page, navigation and API lists.

The pages in `docs/` are plain Markdown, so that GitHub renders them too. Directives of Sphinx are
added here, while pages are read.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import shutil
from pathlib import Path
from typing import Any

from docs._site import figures

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent
ROOT = DOCS.parent
EXAMPLES = ROOT / "examples"

#: Title in the navigation bar -> the page of the section, and the pages below it; all from docs/.
NAVIGATION = {
    "Start": ("start", ["which-model", "preparation", "command", "faq"]),
    "Guide": (
        "guide",
        [
            "models",
            "kernels",
            "missing-data",
            "choosing-hyperparameters",
            "trust",
            "trust-study",
            "comparing",
            "solvers",
            "scale",
            "rows",
            "simulation-and-metrics",
            "neighbours",
            "when-it-pays",
            "arena",
            "benchmarks",
            "campaigns",
            "peers",
        ],
    ),
    "Examples": ("gallery/index", []),
    "API": ("api", []),
    "Replication": (
        "../REPLICATION",
        [
            "reference/figures",
            "findings",
            "inference",
            "replication",
            "cluster",
            "extending",
            "../data/README",
        ],
    ),
    "Contributing": ("../CONTRIBUTING", ["../CHANGELOG", "../CODE_OF_CONDUCT", "../SECURITY"]),
}

#: Modules with public names -> what they are for, in the order of the API page.
MODULES = {
    "kgl": "Estimators, grids, selection",
    "kgl.kernels": "Kernels of covariates and of graphs",
    "kgl.datasets": "Data sets, simulated and real",
    "kgl.simulate": "Random graphs and smooth signals",
    "kgl.metrics": "Scores of graphs and signals",
    "kgl.plotting": "Pictures",
    "kgl.selection": "Tuning by cross-validation",
    "kgl.oracle": "Tuning against a ground truth",
    "kgl.subsampling": "Which edges come back",
    "kgl.comparison": "Methods side by side on one table",
    "kgl.problem": "The table of models and the objective",
    "kgl.models": "The base class of estimators",
    "kgl.export": "Exports, as a mixin",
    "kgl.laplacian": "Laplacians, weights and distances",
    "kgl.seeding": "Named random streams",
}

#: Modules without a page: other modules export what is public in them, or a guide describes them.
INTERNAL = (
    "kgl.base",
    "kgl.bayesian",
    "kgl.command",
    "kgl.folds",
    "kgl.graph",
    "kgl.grid",
    "kgl.grid_result",
    "kgl.imputer",
    "kgl.inputs",
    "kgl.large",
    "kgl.plotting_large",
    "kgl.prediction",
    "kgl.preparation",
    "kgl.random_graphs",
    "kgl.rows",
    "kgl.skewness",
    "kgl.solvers",
    "kgl.uncertainty",
)

#: Headings under which a module lists its names, by kind.
KINDS = {"estimators": "Estimators", "classes": "Classes", "functions": "Functions", "data": "Data"}


def kind_of(value: Any) -> str:
    """Return the heading (key of KINDS) of a public object."""
    if inspect.isclass(value):
        return "estimators" if hasattr(value, "fit") and hasattr(value, "get_params") else "classes"
    return "functions" if inspect.isroutine(value) else "data"


def public_names(module: str) -> dict[str, list[str]]:
    """Return the public names of a module by kind, without modules and what `kgl` exports."""
    loaded = importlib.import_module(module)
    shorter = set() if module == "kgl" else set(importlib.import_module("kgl").__all__)
    names: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for name in loaded.__all__:
        value = getattr(loaded, name)
        if not inspect.ismodule(value) and name not in shorter:
            names[kind_of(value)].append(name)
    return {kind: listed for kind, listed in names.items() if listed}


def module_page(module: str) -> str:
    """Return the reStructuredText page that lists the public names of a module."""
    title = f"{module}: {MODULES[module][0].lower()}{MODULES[module][1:]}"
    lines = [title, "=" * len(title), "", f".. currentmodule:: {module}", ""]
    groups = public_names(module)
    for kind, names in groups.items():
        if len(groups) > 1:
            lines += [KINDS[kind], "-" * len(KINDS[kind]), ""]
        lines += [".. autosummary::", "   :toctree: generated", ""]
        lines += [f"   {name}" for name in names]
        lines.append("")
    return "\n".join(lines)


def write_reference(directory: Path) -> None:
    """Write a page for each module and one of figures.

    Only where it changed, so that builds stay incremental.
    """
    directory.mkdir(parents=True, exist_ok=True)
    replication = (ROOT / "REPLICATION.md").read_text(encoding="utf-8")
    texts = {f"{module}.rst": module_page(module) for module in MODULES}
    texts["figures.md"] = figures.page(replication)
    for name, text in texts.items():
        page = directory / name
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def toctree(entries: list[str], **options: Any) -> str:
    """Return a table of contents in MyST's notation."""
    given = [f":{key}: {value}".rstrip() for key, value in options.items()]
    return "\n".join(["```{toctree}", *given, "", *entries, "```", ""])


def extended(page: str, text: str) -> str:
    """Return the source of a page with what only the site has."""
    if page == "docs/index":
        home = (HERE / "home.md").read_text(encoding="utf-8")
        body = text.partition("\n")[2]
        entries = [f"{title} </{_name(first)}>" for title, (first, _) in NAVIGATION.items()]
        return home.replace("<!-- pages -->", body) + "\n" + toctree(entries, hidden="")
    if page == "REPLICATION":
        heading = "\n## Figures\n"
        text = text.replace(
            heading, f"{heading}\n[All figures on one page](/docs/reference/figures.md).\n"
        )
    if page == "docs/api":
        return text + "\n" + toctree([f"reference/{m}" for m in MODULES], maxdepth=2)
    for first, below in NAVIGATION.values():
        if below and page == _name(first):
            return text + "\n" + toctree([f"/{_name(entry)}" for entry in below], hidden="")
    return text


def _name(entry: str) -> str:
    """Return the name that Sphinx has for a page of the navigation."""
    return entry[3:] if entry.startswith("../") else f"docs/{entry}"


def repository_links(page: str, text: str, address: str) -> str:
    """Return a page whose links fit the site.

    Those to directories lead to the repository, to README home, to examples to the gallery.
    """

    def moved(match: re.Match[str]) -> str:
        target = match[1]
        if re.match(r"\w+:|#", target):
            return match[0]
        path = ((ROOT / page).parent / target).resolve()
        if path == ROOT / "README.md":
            return "](/docs/index.md)"
        if path == EXAMPLES / "README.rst":
            return "](/docs/gallery/index.rst)"
        if path.parent == EXAMPLES and path.suffix == ".py":
            return f"](/docs/gallery/{path.stem}.rst)"
        if path.is_dir():
            return f"]({address}/tree/main/{path.relative_to(ROOT).as_posix()})"
        return match[0]

    return re.sub(r"\]\(([^)\s]+)\)", moved, text)


def _read(app: Any, page: str, source: list[str]) -> None:
    text = repository_links(page, source[0], app.config.kgl_repository)
    source[0] = extended(page, text)


def _copy_mathjax(app: Any, error: Exception | None) -> None:
    """Put MathJax beside the pages, so that formulas need no network."""
    # not importable by name, because of its hyphens
    package = importlib.util.find_spec("sphinx-mathjax-offline")
    if error is None and app.builder.format == "html" and package and package.origin:
        source = Path(package.origin).parent / "static" / "mathjax" / "tex-svg.js"
        shutil.copyfile(source, Path(app.outdir) / "_static" / "tex-svg.js")


def reset(gallery: dict[str, Any], name: str) -> None:
    """Give every example of the gallery the same look."""
    import matplotlib.pyplot as plt

    plt.rcParams.update({"figure.dpi": 110, "savefig.dpi": 110, "font.size": 9.5})
    plt.rcParams.update({"figure.constrained_layout.use": True, "axes.spines.top": False})
    plt.rcParams.update({"axes.spines.right": False, "image.cmap": "cividis"})
    plt.rcParams["axes.prop_cycle"] = plt.cycler(
        color=["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
    )


def setup(app: Any) -> dict[str, bool]:
    """Connect the hooks (Sphinx calls this)."""
    write_reference(DOCS / "reference")
    app.add_config_value("kgl_repository", "", "html", str)
    app.connect("source-read", _read)
    app.connect("build-finished", _copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
