"""The documentation: its code runs, its links and paths exist, every public name is on the site."""

import ast
import builtins
import importlib
import pkgutil
import re
import sys
import warnings
from dataclasses import fields
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import kgl
from docs._site import pages
from kgl._docstrings import ATTRIBUTES, PARAMETERS

ROOT = Path(__file__).resolve().parents[1]
DOCS = sorted((ROOT / "docs").glob("*.md"))
TOP = ("README", "CHANGELOG", "CODE_OF_CONDUCT", "CONTRIBUTING", "SECURITY", "data/README")
PAGES = [*(ROOT / f"{name}.md" for name in TOP), *DOCS]
ESTIMATORS = [kgl.GL, kgl.GL2Step, kgl.KGLN, kgl.KGLO, kgl.KGL, kgl.KGLAgnostic]
every_page = pytest.mark.parametrize(
    "page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix()
)


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@every_page
def test_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # but where folds hide a third of a small table, chains need not converge
    if page.stem != "comparing":
        warnings.filterwarnings("error", "the chains have not converged")
    namespace = {"__name__": page.stem}
    text = read(page)
    try:
        # a block that begins with the path of a file is written and run by test_extending.py
        code = r"^```python\n(?!# \S+/\S+\.py\n)(.*?)^```$"
        for block in re.finditer(code, text, re.DOTALL | re.MULTILINE):
            # blank lines in front, so that a traceback points at the line of the page
            above = "\n" * text[: block.start(1)].count("\n")
            exec(compile(above + block[1], str(page), "exec"), namespace)
    finally:
        plt.close("all")


@every_page
def test_code_blocks_name_their_language(page):
    """A block without a language would look like code and never run."""
    fences = re.findall(r"^```(.*)$", read(page), re.MULTILINE)
    assert len(fences) % 2 == 0
    assert all(fences[::2])
    assert not any(fences[1::2])


def anchors(page: Path) -> set[str]:
    """Anchors that GitHub gives to the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", read(page), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@every_page
def test_links(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", read(page)):
        if re.match(r"\w+:", target):
            continue
        name, _, anchor = target.partition("#")
        linked = (page.parent / name).resolve() if name else page
        assert linked.exists(), f"{page.name} links to {target}, which does not exist"
        if anchor and linked.suffix == ".md":
            assert anchor in anchors(linked), f"{page.name}: no heading for {target}"


def section(page: Path, anchor: str) -> str:
    """Return what is under a heading, up to the next of its level."""
    found, level, code = [], 0, False
    for line in read(page).splitlines():
        code ^= line.startswith("```")
        if not code and (heading := re.match(r"(#+) (.+)$", line)):
            if level and len(heading[1]) <= level:
                break
            if re.sub(r"[^\w\- ]", "", heading[2].lower()).replace(" ", "-") == anchor:
                level = len(heading[1])
        if level:
            found.append(line)
    return "\n".join(found) + "\n"


def names_from_elsewhere(code: str) -> set[str]:
    """Return names that code reads and does not define."""
    loaded, defined = set(), set(dir(builtins))
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name):
            (loaded if isinstance(node.ctx, ast.Load) else defined).add(node.id)
        elif isinstance(node, ast.alias):
            defined.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.arg):
            defined.add(node.arg)
    return loaded - defined


INDEX = ROOT / "docs" / "index.md"
REACHED = sorted(set(re.findall(r"\]\(([\w-]+\.md)#([^)\s]+)\)", read(INDEX))))


@pytest.mark.parametrize(("name", "anchor"), REACHED)
def test_blocks_reached_from_the_front_page_run_alone_or_say_what_they_go_on_with(name, anchor):
    text = section(ROOT / "docs" / name, anchor)
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    lacking = names_from_elsewhere(code)
    sentence = re.search(r"This goes on with (.+?) from", text)
    named = set(re.findall(r"`(\w+)`", sentence[1])) if sentence else set()
    assert lacking - ({"kgl"} if named else set()) == named


#: Directories of the repository whose files are named in the text, in backquotes.
TREE = ("kgl", "experiments", "conf", "docs", "tests", "profiles", "requirements", "figures")


@every_page
def test_paths_in_the_text_exist(page):
    text = re.sub(r"^```.*?^```$", "", read(page), flags=re.DOTALL | re.MULTILINE)
    named = re.findall(rf"`((?:{'|'.join(TREE)})/[\w./-]*)`", text)
    missing = [path for path in named if not (ROOT / path).exists()]
    assert not missing


@every_page
def test_modules_in_the_text_exist(page):
    for module in re.findall(r"python -m (experiments[\w.]*|kgl[\w.]*|tests[\w.]*)", read(page)):
        path = ROOT.joinpath(*module.split("."))
        assert (path / "__main__.py").exists() or path.with_suffix(".py").exists(), module


def test_every_page_is_on_the_map():
    index = read(ROOT / "docs" / "index.md")
    missing = [p.name for p in DOCS if p.name != "index.md" and f"({p.name})" not in index]
    assert not missing


def test_every_page_is_in_the_navigation():
    listed = {name for first, below in pages.NAVIGATION.values() for name in (first, *below)}
    expected = {p.stem for p in DOCS} - {"index"} | {f"../{n}" for n in TOP if n != "README"}
    assert expected <= listed


def test_the_reference_has_every_public_name_once():
    listed = [
        name
        for module in pages.MODULES
        for names in pages.public_names(module).values()
        for name in names
    ]
    assert len(listed) == len(set(listed))
    for module in pages.MODULES:
        loaded = importlib.import_module(module)
        names = [n for n in loaded.__all__ if f"{module}.{n}" not in sys.modules]
        assert not set(names) - set(listed), module
        text = pages.module_page(module)
        for kind in pages.public_names(module).values():
            assert all(f"\n   {name}\n" in text for name in kind)


def test_no_module_is_left_out_of_the_reference():
    """A new module goes into one of the two lists of `docs/_site/pages.py`."""
    names = [module.name for module in pkgutil.iter_modules(kgl.__path__, "kgl.")]
    modules = {name for name in names if not name.rpartition(".")[2].startswith("_")}
    assert modules == (set(pages.MODULES) - {"kgl"}) | set(pages.INTERNAL)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_estimators_document_all_parameters_and_attributes(estimator):
    names = [f.name for f in fields(estimator)]
    assert set(names) <= set(PARAMETERS)
    headings = ["Parameters\n----------", "Attributes\n----------", "Examples\n--------"]
    places = [estimator.__doc__.index(heading) for heading in headings]
    assert places == sorted(places)
    described = re.findall(r"^(\w+) : ", estimator.__doc__, re.MULTILINE)
    assert sorted(described) == sorted([*names, *ATTRIBUTES])


def test_a_fit_has_the_documented_attributes():
    data = kgl.simulate.make_dataset("er", m=6, n=20)
    model = kgl.KGLN(psi=0.1).fit(data.Y, K_x=data.K_x)
    learned = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert learned == set(ATTRIBUTES) - {"feature_names_in_"}
