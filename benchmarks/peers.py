"""Compare BayesianKGL with BDgraph (R) and others, side by side on the same simulated data.

``python -m benchmarks.peers`` takes a few minutes, writes ``benchmarks/peers.json`` and renews the
tables in ``docs/benchmarks.md``. It needs R with BDgraph, on Debian and Ubuntu::

    apt-get update && apt-get install -y --no-install-recommends r-base-core r-cran-bdgraph
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import sklearn
from sklearn.covariance import GraphicalLassoCV
from threadpoolctl import threadpool_limits

import kgl
from benchmarks import peers_table
from benchmarks.page import PAGE, renew
from kgl._types import Array
from kgl.bayesian import compiled

ROOT = Path(__file__).parent.parent
STORED = Path(__file__).with_name("peers.json")
INSTALL = "apt-get update && apt-get install -y --no-install-recommends r-base-core r-cran-bdgraph"
#: Seeds that no other study uses; each is one graph, and families take turns.
SEEDS, FAMILIES = range(8000, 8010), ("er", "ba", "sbm")
MISSING = {"complete": 0.0, "half missing": 0.5}
#: Of BDgraph: iterations, and the believed density, that of the graphs.
ITERATIONS, DENSITY = 10_000, 0.3
#: Nodes of the timed fits.
SIZES = (20, 40, 100)

#: Probabilities or scores of all pairs (pairs,), CPU seconds, elapsed seconds.
Answer = tuple[Array, float, float]


def standardised(Y: Array) -> Array:
    """Return columns of mean zero and variance one, as BayesianKGL prepares them itself."""
    return np.asarray((Y - np.nanmean(Y, axis=0)) / np.nanstd(Y, axis=0))


def timed(function: Callable[[], Array]) -> Answer:
    """Return what a function returns, and the CPU and elapsed seconds that it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = function()
    return found, time.process_time() - cpu, time.perf_counter() - wall


def pairs(matrix: Array) -> Array:
    return np.asarray(matrix[np.triu_indices(len(matrix), 1)])


def bayesian(Y: Array, *, fast: bool) -> Answer:
    with patch.object(compiled, "available", return_value=fast):
        model = kgl.BayesianKGL(progress=False)
        return timed(lambda: pairs(model.fit(Y).edge_probability_))


def bdgraph(Y: Array) -> Answer:
    """Edge probabilities by BDgraph: Gaussian if complete, the copula method with gaps."""
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder, "data.csv"), Path(folder, "probabilities.csv")
        np.savetxt(data, Y, delimiter=",", fmt="%.17g")
        method = "gcgm" if np.isnan(Y).any() else "ggm"
        script = Path(__file__).with_name("bdgraph.R")
        command = ["Rscript", str(script), str(data), method, str(ITERATIONS), str(DENSITY)]
        done = subprocess.run([*command, str(out)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"BDgraph failed: {done.stderr.strip()}\nInstall it with: {INSTALL}")
        cpu, wall, _ = done.stdout.split()
        return pairs(np.loadtxt(out, delimiter=",")), float(cpu), float(wall)


def kgl_n(Y: Array) -> Answer:
    return timed(lambda: pairs(kgl.KGLN().fit(Y).edge_scores_))


def glasso(Y: Array) -> Answer:
    """Absolute partial correlations; missing entries are replaced by the mean of the column."""

    def fit() -> Array:
        precision = GraphicalLassoCV().fit(np.nan_to_num(standardised(Y))).precision_
        d = np.sqrt(np.diag(precision))
        return np.abs(pairs(precision / np.outer(d, d)))

    return timed(fit)


METHODS: dict[str, Callable[[Array], Answer]] = {
    "bayesian": lambda Y: bayesian(Y, fast=False),
    "bayesian_compiled": lambda Y: bayesian(Y, fast=True),
    "bdgraph": lambda Y: bdgraph(standardised(Y)),
    "bdgraph_raw": bdgraph,
    "kgl_n": kgl_n,
    "glasso": glasso,
}


def usable(name: str) -> bool:
    return name != "bayesian_compiled" or compiled.available()


def accuracy(seeds: range) -> Iterator[dict[str, Any]]:
    """Run all methods on all data sets; methods take turns, so that they share the machine."""
    for seed in seeds:
        for kind, missing in MISSING.items():
            family = FAMILIES[seed % len(FAMILIES)]
            data = kgl.simulate.make_dataset(family, missing=missing, seed=seed)
            for name, method in METHODS.items():
                # ranks of the copula method do not depend on units
                if not usable(name) or (name == "bdgraph_raw" and missing):
                    continue
                score, cpu, wall = method(data.Y)
                yield {
                    "method": name, "kind": kind, "seed": seed, "family": family,
                    "edge": (pairs(data.W) > 0).astype(int).tolist(),
                    "score": np.round(score, 6).tolist(), "cpu": cpu, "wall": wall,
                }  # fmt: skip


#: Runs in a process of its own, whose peak memory is read. Arguments: nodes, compiled (1 or 0).
TIMED = """
import sys, time, warnings
m, fast = int(sys.argv[1]), sys.argv[2] == "1"
if not fast:
    sys.modules["numba"] = None  # as if it were not installed
import kgl
warnings.simplefilter("ignore")
small = kgl.simulate.make_dataset("er", m=5, n=20)
kgl.BayesianKGL(n_chains=2, n_warmup=1, n_draws=4).fit(small.Y)  # compiles, or loads what was
def status(key):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(key)) / 1024
data = kgl.simulate.make_dataset("er", m=m, n=100, seed=8000)
before, wall, cpu = status("VmRSS"), time.perf_counter(), time.process_time()
kgl.BayesianKGL(progress=False).fit(data.Y)
print(time.process_time() - cpu, time.perf_counter() - wall, before, status("VmHWM"))
"""


def times(sizes: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Time BayesianKGL with and without the compiled loop, with the peak memory of the process."""
    for m in sizes:
        for fast in (True, False):
            if fast and not compiled.available():
                continue
            command = [sys.executable, "-c", TIMED, str(m), str(int(fast))]
            out = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
            cpu, wall, before, peak = (float(v) for v in out.stdout.split())
            yield {
                "m": m, "compiled": fast, "cpu": cpu, "wall": wall, "before_mb": before,
                "peak_mb": peak,
            }  # fmt: skip


def versions() -> dict[str, str]:
    code = 'cat(as.character(packageVersion("BDgraph")), R.version$major, R.version$minor)'
    found = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=False)
    if found.returncode:
        sys.exit(f"R has no package BDgraph. On Debian and Ubuntu: {INSTALL}")
    peer, major, minor = found.stdout.split()
    return {
        "kgl": kgl.__version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__,
        "BDgraph": peer, "R": f"{major}.{minor}",
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--graphs", type=int, default=len(SEEDS), help="how many of the ten graphs")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="nodes of timed fits")
    parser.add_argument("--output", type=Path, default=STORED)
    options = parser.parse_args()
    if shutil.which("Rscript") is None:
        sys.exit(f"there is no Rscript here, so no BDgraph. On Debian and Ubuntu: {INSTALL}")
    report: dict[str, Any] = {
        "settings": {
            "m": 20, "n": 100, "noise": 0.01, "threads": 1, "iterations": ITERATIONS,
            "density": DENSITY, "seeds": list(SEEDS[: options.graphs]), "versions": versions(),
        },
        "accuracy": [],
        "times": [],
    }  # fmt: skip
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        if compiled.available():  # compiling is not timed
            small = kgl.simulate.make_dataset("er", m=5, n=20)
            kgl.BayesianKGL(n_chains=2, n_warmup=1, n_draws=4, progress=False).fit(small.Y)
        for row in accuracy(SEEDS[: options.graphs]):
            report["accuracy"].append(row)
            place = f"{row['seed']} {row['family']:<4}{row['kind']:<13}{row['method']:<18}"
            print(f"{place} {row['cpu']:7.2f} CPU s", flush=True)
        for row in times(tuple(options.sizes)):
            report["times"].append(row)
            print(f"m = {row['m']}, compiled {row['compiled']}: {row['cpu']:.1f} CPU s", flush=True)
    options.output.write_text(json.dumps(peers_table.compact(report)) + "\n", encoding="utf-8")
    print(peers_table.render(report))
    if options.output == STORED:
        renew(PAGE, "peers", peers_table.render(report))


if __name__ == "__main__":
    main()
