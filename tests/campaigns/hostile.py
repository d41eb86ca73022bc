"""Configurations, data files and archives made to do harm.

* Names of studies and runs, and overrides, that would write outside of ``results/``.
* Tables for ``kgl learn`` whose names and cells hold HTML, formulas, control characters, or no
  table at all; its page and files must show them as text.
* Archives with members outside of them, links, and other than what they should hold.
* Files of results with pickled objects or without end.

All must be refused with a message, or do no harm: nothing is written outside, no mark-up gets into
a page, no traceback is shown.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import pickle
import tempfile
import zipfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from experiments import io as files
from experiments.lookup import ConfigError
from experiments.plan import plan_of_config
from kgl.command import main as command
from kgl.datasets.catalogue import CorruptDataError, DataFile, DataSet
from kgl.datasets.verify import holds
from tests.campaigns.result import ROOT, Tally

FAULTS = ("raw errors", "escapes", "injections", "run code")

MARKUP = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</title><h1>x", "<!--", "]]>",
    "' onmouseover='x", "&lt;b&gt;", "javascript:alert(1)", "{{ 7 * 7 }}", "{% raise %}", "${x}",
    "</script><script>x</script>", "<svg/onload=x>", "<![CDATA[x", "\\u003cscript\\u003e",
)  # fmt: skip
ODD = (
    "=1+1", "@SUM(A1)", "$x$", "$\\frac{", "%s%n", "a\nb", "a\tb", "a\x00b", "\x1b[31m",
    "\u202eabc",
    "\ufeffa", "", " ", "." * 300, "é" * 50, "🙂", "NaN", "inf", "-", "1e999", "../../x", "C:\\x",
    "__proto__", "constructor", "id", "label",
)  # fmt: skip
PATHS = (
    "../../etc", "../x", "/kgl-escape", "fig2/../../x", "./fig2", "fig2.yaml", "fig2 ", " fig2",
    "~", "..", ".", "", "a/b", "a\\b", "con", "-rf", "*", "fig2\x00", "fig2\n", "\U0001d487ig2",
    "$(id)",
    "`id`", "a" * 500, "study", "../study/fig2", "file:" + "//" + "/etc/passwd", "fig2;x", "{a}",
    "${oc.env:HOME}",
)  # fmt: skip
OVERRIDES = (
    "hydra.run.dir=/x", "hydra/launcher=x", "run=../x", "study=../x", "stdy=fig2", "=", "a",
    "a=",
    "data.source=../../x", "protocol.data.m=[1", "protocol.data.m=-5", "protocol.data.m=1e99",
    "replicates=0", "replicates=x", "replicates=99999999999999999999", "grid=../../x",
    "~replicates",
    "++new.key=1", "+new=1", "levels.noise=[]", "levels.noise=[x]", "levels.noise=null",
    "protocol.data.family=../x", "protocol.fit.tol=${oc.env:HOME}", "levels.families=['<b>']",
    "a.b.c.d=1", "replicates=!!python/object:os.system", "protocol={a:1}", "x" * 3000 + "=1",
)  # fmt: skip


class Page(HTMLParser):
    """Elements of a page that run code or fetch something."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag in ("script", "img", "svg", "iframe", "object", "link", "h1"):
            self.found.append(tag)
        self.found += [name for name, _ in attrs if name.startswith("on")]
        self.found += ["javascript:" for _, v in attrs if (v or "").startswith("javascript:")]


def elements(text: str) -> list[str]:
    page = Page()
    page.feed(text)
    return sorted(page.found)


def config(tally: Tally, rng: np.random.Generator, folder: Path) -> None:
    """Plan a study whose names and overrides are hostile."""
    given: dict[str, Any] = {"study": str(rng.choice(["fig2", "fig7", "smoke", "fig1"]))}
    which = rng.integers(5)
    if which == 0:
        given["study"] = PATHS[rng.integers(len(PATHS))]
    elif which == 1:
        given["run"] = PATHS[rng.integers(len(PATHS))]
    elif which == 2:
        given["overrides"] = [OVERRIDES[rng.integers(len(OVERRIDES))]]
    elif which == 3:
        wrong = (None, 3, True, 1.5, [], {}, {"a": 1}, ["fig2"], "[", b"x", np.nan, [[]], [None])
        key = str(rng.choice(["study", "run", "protocol", "overrides"]))
        given[key] = wrong[rng.integers(len(wrong))]
    else:
        given[str(rng.choice(["stdy", "Study", "", "overides", "../x", "study "]))] = "x"
    what = repr(given)[:200]
    try:
        plan = plan_of_config(given)
    except ConfigError as error:
        if len(str(error)) < 10:
            tally.fault("raw errors", what=what, error=str(error))
        tally.counts["refused"] += 1
        return
    except Exception as error:
        tally.fault("raw errors", what=what, error=f"{type(error).__name__}: {error}"[:300])
        return
    tally.counts["planned"] += 1
    place = Path(plan.directory)
    inside = (ROOT / place).resolve()
    if place.parts[0] != "results" or ROOT / "results" not in inside.parents or ".." in place.parts:
        tally.fault("escapes", what=what, path=str(place))


def _cell(rng: np.random.Generator) -> str:
    pool = MARKUP + ODD
    return pool[rng.integers(len(pool))]


def _data(rng: np.random.Generator) -> tuple[bytes, list[str]]:
    """Return a data file, and the names in it."""
    m, n = int(rng.integers(2, 6)), int(rng.integers(3, 14))
    names = [f"{_cell(rng)}{k}" if rng.random() < 0.6 else f"n{k}" for k in range(m)]
    table = pd.DataFrame(rng.normal(size=(n, m)).round(3), columns=names).astype(object)
    for _ in range(int(rng.integers(3))):
        if rng.random() < 0.4:
            table.iloc[rng.integers(n), rng.integers(m)] = _cell(rng)
    content = table.to_csv(index=False).encode("utf-8", errors="replace")
    which = rng.random()
    if which < 0.1:
        content = content.decode().encode("utf-16")
    elif which < 0.2:
        content = content.replace(b",", rng.choice([b";", b"\t", b"|", b" "]), 7)
    elif which < 0.3:
        content = content[: int(rng.integers(len(content)))]
    elif which < 0.4:
        content = rng.bytes(int(rng.integers(1, 300)))
    elif which < 0.45:
        content = b'"' + content
    elif which < 0.5:
        content = content.replace(b"\n", b"\r")
    return content, names


def learn(tally: Tally, rng: np.random.Generator, folder: Path) -> None:
    """Learn a graph from a hostile table, by the command, and look at what it writes."""
    content, names = _data(rng)
    ending = str(rng.choice([".csv", ".csv", ".csv", ".tsv", ".parquet", ".xlsx", ".txt"]))
    data, out = folder / f"data{ending}", folder / "out"
    out.mkdir()
    data.write_bytes(content)
    graph = out / str(rng.choice(["graph.graphml", "graph.gexf", "graph.json", "graph.csv"]))
    words = ["learn", str(data), "--quiet", "--out", str(graph), "--report", str(out / "page.html")]
    if rng.random() < 0.3:
        words += ["--time", names[0]]
    told = io.StringIO()
    what = f"{' '.join(words[4:])}: {content[:120]!r}"
    try:
        with contextlib.redirect_stderr(told), contextlib.redirect_stdout(io.StringIO()):
            code = command(words)
    except SystemExit as error:
        code = int(error.code or 0)
    except BaseException as error:
        tally.fault("raw errors", what=what, error=f"{type(error).__name__}: {error}"[:300])
        return
    if code:
        tally.counts["refused"] += 1
        lines = told.getvalue().strip().splitlines()
        if not lines or "error" not in told.getvalue() or "Traceback" in told.getvalue():
            tally.fault("raw errors", what=what, error=told.getvalue()[-300:])
        if any(out.iterdir()):
            tally.fault("escapes", what=what, path=str(sorted(out.iterdir())))
        return
    tally.counts["learned"] += 1
    page = (out / "page.html").read_text(encoding="utf-8")
    if elements(page) != elements(_plain_page(folder)):
        tally.fault("injections", what=what, found=str(elements(page))[:200])
    _read_again(tally, graph, what)


_PLAIN: dict[str, str] = {}


def _plain_page(folder: Path) -> str:
    """Return the page of a harmless table."""
    if "page" not in _PLAIN:
        data, page = folder / "plain.csv", folder / "plain.html"
        table = pd.DataFrame(np.random.default_rng(0).normal(size=(9, 3)), columns=list("abc"))
        table.to_csv(data, index=False)
        assert command(["learn", str(data), "--quiet", "--report", str(page)]) == 0
        _PLAIN["page"] = page.read_text(encoding="utf-8")
    return _PLAIN["page"]


def _read_again(tally: Tally, graph: Path, what: str) -> None:
    try:
        if graph.suffix == ".graphml":
            nx.read_graphml(graph)
        elif graph.suffix == ".gexf":
            nx.read_gexf(graph)
        elif graph.suffix == ".json":
            json.loads(graph.read_text(encoding="utf-8"))
        else:
            pd.read_csv(graph)
    except Exception as error:
        tally.fault("injections", what=what, error=f"{type(error).__name__}: {error}"[:200])


def archive(tally: Tally, rng: np.random.Generator, folder: Path) -> None:
    """Unpack an archive that its hash vouches for, and that is hostile all the same."""
    name, right = "numbers.txt", b"1 2 3\n"
    inside = str(rng.choice(["", "../", "/", "../../tmp/", "C:\\", "a/../../", "sub/", "\\\\x\\"]))
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        content = (right, right, b"", right + b"4", bytes(1_000_000))[rng.integers(5)]
        info = zipfile.ZipInfo(f"{inside}{name}")
        if rng.random() < 0.2:
            info.external_attr = 0o120777 << 16  # a link
            content = b"/etc/passwd"
        packed.writestr(info, content)
        for _ in range(int(rng.integers(3))):
            other = ("../evil", "/evil", "evil\x00", "con", name, "x/" + name, "..", "a/" * 200)
            with contextlib.suppress(ValueError):
                packed.writestr(other[rng.integers(len(other))], b"evil")
    packed_bytes = target.getvalue()
    where = folder / "deep" / "data"
    where.mkdir(parents=True)
    (where / "numbers.zip").write_bytes(packed_bytes)
    known = DataFile(name, hashlib.sha256(right).hexdigest())
    outer = DataFile("numbers.zip", hashlib.sha256(packed_bytes).hexdigest(), "https://example.org")
    before = set(folder.rglob("*"))
    what = f"{inside}{name} and {len(packed_bytes)} bytes"
    try:
        holds(where, DataSet("numbers", (known,), outer))
        tally.counts["unpacked"] += 1
    except CorruptDataError:
        tally.counts["refused"] += 1
    except Exception as error:
        tally.fault("raw errors", what=what, error=f"{type(error).__name__}: {error}"[:300])
    new = set(folder.rglob("*")) - before
    if new - {where / name}:
        tally.fault("escapes", what=what, path=str(sorted(map(str, new)))[:200])
    if (where / name).exists() and (where / name).read_bytes() != right:
        tally.fault("escapes", what=what, path="other content")


class Harm:
    """Runs code when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


def results(tally: Tally, rng: np.random.Generator, folder: Path) -> None:
    """Read files of results that hold pickled objects, or lie about their size."""
    harm = folder / "harm"
    hostile = io.BytesIO()
    which = int(rng.integers(5))
    if which == 0:
        array = np.array([Harm(str(harm))], dtype=object)
        np.savez(hostile, provenance=array, weights=array)
    elif which == 1:
        hostile.write(pickle.dumps(Harm(str(harm))))
    elif which == 2:
        with zipfile.ZipFile(hostile, "w") as packed:
            header = (
                b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (%d,)}"
            )
            packed.writestr("w.npy", (header % 10**15).ljust(127) + b"\n")
    elif which == 3:
        hostile.write(b"PAR1" + rng.bytes(200) + b"PAR1")
    else:
        hostile.write(b"PK\x03\x04" + rng.bytes(100))
    path = folder / str(rng.choice(["x.npz", "x.parquet"]))
    path.write_bytes(hostile.getvalue())
    read: Callable[[Path], Any] = files.load_arrays if path.suffix == ".npz" else files.load_table
    try:
        read(path)
        tally.fault("raw errors", what=f"{path.name} {which}", error="it was read")
    except ValueError:
        tally.counts["refused"] += 1
    except BaseException as error:
        what = f"{path.name} {which}"
        tally.fault("raw errors", what=what, error=f"{type(error).__name__}: {error}"[:300])
    if harm.exists():
        tally.fault("run code", what=f"{path.name} {which}")


ATTACKS = (config, config, learn, archive, results)


def run(budget: int, seed: int) -> dict[str, Any]:
    """Make the attacks in turn."""
    tally = Tally(budget, "inputs", FAULTS)
    with tempfile.TemporaryDirectory(prefix="kgl-hostile-") as directory:
        for number in range(budget):
            folder = Path(directory) / str(number)
            folder.mkdir()
            attack = ATTACKS[number % len(ATTACKS)]
            attack(tally, np.random.default_rng([seed, 5, number]), folder)
            tally.counts[f"of: {attack.__name__}"] += 1
            tally.step()
    return tally.record()
