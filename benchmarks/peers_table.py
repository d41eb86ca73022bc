"""From the stored results of :mod:`benchmarks.peers` to the tables of the documentation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import stats

from kgl.metrics import aps

LABELS = {
    "bayesian": "BayesianKGL",
    "bayesian_compiled": "BayesianKGL, compiled",
    "bdgraph": "BDgraph",
    "bdgraph_raw": "BDgraph, columns not standardised",
    "kgl_n": "KGL-N, defaults",
    "glasso": "GraphicalLassoCV",
}
#: Methods whose scores are probabilities.
PROBABILITIES = ("bayesian", "bayesian_compiled", "bdgraph", "bdgraph_raw")
KINDS = ("complete", "half missing")
BINS = 10

Rows = Sequence[dict[str, Any]]


def compact(report: dict[str, Any]) -> dict[str, Any]:
    """Return the report with seconds and megabytes rounded, so that the file stays small."""
    short = {"cpu": 4, "wall": 4, "before_mb": 1, "peak_mb": 1}
    out = dict(report)
    for name in ("accuracy", "times"):
        out[name] = [
            {k: round(v, short[k]) if k in short else v for k, v in row.items()}
            for row in report[name]
        ]
    return out


def _pooled(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    p = np.concatenate([row["score"] for row in rows])
    return p, np.concatenate([row["edge"] for row in rows]).astype(float)


def _aps(rows: Rows) -> float:
    return float(np.mean([aps(r["edge"], r["score"], threshold=None) for r in rows]))


def _brier(rows: Rows) -> float:
    p, edge = _pooled(rows)
    return float(np.mean((p - edge) ** 2))


def _stated(rows: Rows) -> float:
    p, _ = _pooled(rows)
    return float(p[p >= 0.5].mean()) if (p >= 0.5).any() else np.nan


def _true(rows: Rows) -> float:
    p, edge = _pooled(rows)
    return float(edge[p >= 0.5].mean()) if (p >= 0.5).any() else np.nan


def _excess(rows: Rows) -> float:
    """How much more often edges are stated than there are, among pairs of one half and more."""
    return _stated(rows) - _true(rows)


def _ece(rows: Rows) -> float:
    """Expected calibration error: stated against true shares in ten bins, weighed by pairs."""
    p, edge = _pooled(rows)
    where = np.minimum((p * BINS).astype(int), BINS - 1)
    gaps = np.bincount(where, p - edge, minlength=BINS)
    return float(np.abs(gaps).sum() / len(p))


def _mean_of(name: str) -> Callable[[Rows], float]:
    return lambda rows: float(np.mean([row[name] for row in rows]))


STATISTICS: dict[str, Callable[[Rows], float]] = {
    "APS": _aps,
    "Brier": _brier,
    "stated": _stated,
    "true": _true,
    "stated minus true": _excess,
    "ECE": _ece,
    "CPU s": _mean_of("cpu"),
    "elapsed s": _mean_of("wall"),
}
NEEDS_PROBABILITIES = {"Brier", "stated", "true", "stated minus true", "ECE"}


def jackknife(statistic: Callable[[np.ndarray], float], n: int) -> tuple[float, float]:
    """Return a statistic of graphs 0 to n - 1 and its standard error, one graph left out each."""
    every = np.arange(n)
    without = np.array([statistic(np.delete(every, k)) for k in every])
    error = np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2))
    return statistic(every), float(error)


def summary(rows: Rows, name: str) -> tuple[float, float]:
    """Return a figure of one method over graphs, and its standard error."""
    figure = STATISTICS[name]
    return jackknife(lambda which: figure([rows[k] for k in which]), len(rows))


def difference(one: Rows, two: Rows, name: str) -> tuple[float, float, float]:
    """Return the first method's figure minus the second's on the same graphs: 95 % interval."""
    figure = STATISTICS[name]

    def gap(which: np.ndarray) -> float:
        first, second = ([rows[k] for k in which] for rows in (one, two))
        if name == "stated minus true":  # nearer to zero is better
            return abs(figure(first)) - abs(figure(second))
        return figure(first) - figure(second)

    value, error = jackknife(gap, len(one))
    half = float(stats.t.ppf(0.975, len(one) - 1)) * error
    return value, value - half, value + half


def _rows(report: dict[str, Any], method: str, kind: str) -> list[dict[str, Any]]:
    found = [r for r in report["accuracy"] if (r["method"], r["kind"]) == (method, kind)]
    return sorted(found, key=lambda row: row["seed"])


def _methods_table(report: dict[str, Any], kind: str) -> list[str]:
    lines = [
        f"| {kind} | APS | Brier | stated / true, p >= 0.5 | ECE | CPU s | elapsed s |",
        "|---|---|---|---|---|---|---|",
    ]
    for method, label in LABELS.items():
        rows = _rows(report, method, kind)
        if not rows:
            continue
        cells = {}
        for name in STATISTICS:
            if name in NEEDS_PROBABILITIES and method not in PROBABILITIES:
                cells[name] = "-"
                continue
            value, error = summary(rows, name)
            digits = 2 if name.endswith(" s") else 3
            cells[name] = f"{value:.{digits}f} ± {error:.{digits}f}"
        both = "-" if cells["stated"] == "-" else f"{cells['stated']} / {cells['true']}"
        lines.append(
            f"| {label} | {cells['APS']} | {cells['Brier']} | {both} | {cells['ECE']} | "
            f"{cells['CPU s']} | {cells['elapsed s']} |"
        )
    return lines


def _differences_table(report: dict[str, Any]) -> list[str]:
    shown = ("APS", "Brier", "stated minus true", "ECE", "CPU s")
    lines = [
        "| BayesianKGL minus BDgraph | APS | Brier | distance of stated from true | ECE | CPU s |",
        "|---|---|---|---|---|---|",
    ]
    for method in ("bayesian", "bayesian_compiled"):
        for kind in KINDS:
            one, two = _rows(report, method, kind), _rows(report, "bdgraph", kind)
            if not one:
                continue
            cells = []
            for name in shown:
                value, low, high = difference(one, two, name)
                digits = 2 if name == "CPU s" else 3
                cells.append(f"{value:+.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})")
            label = "NumPy" if method == "bayesian" else "compiled"
            lines.append(f"| {label}, {kind} | " + " | ".join(cells) + " |")
    return lines


def _times_table(report: dict[str, Any]) -> list[str]:
    lines = ["| nodes | loop over pairs | CPU s | elapsed s | MB before the fit | MB at its peak |"]
    lines.append("|---|---|---|---|---|---|")
    lines += [
        f"| {row['m']} | {'compiled' if row['compiled'] else 'NumPy'} | {row['cpu']:.1f} | "
        f"{row['wall']:.1f} | {row['before_mb']:.0f} | {row['peak_mb']:.0f} |"
        for row in report["times"]
    ]
    return lines


def render(report: dict[str, Any]) -> str:
    """Return the tables in Markdown."""
    given = report["settings"]
    graphs = len(given["seeds"])
    version = given["versions"]
    lines = [
        f"{graphs} graphs (ER, BA and SBM in turn, seeds {given['seeds'][0]} to "
        f"{given['seeds'][-1]}), {given['m']} nodes, {given['n']} independent observations, noise "
        f"{given['noise']:g}, no side information; one thread. BDgraph {version['BDgraph']} "
        f"({given['iterations']:,} iterations, prior density {given['density']:g}) has its "
        "Gaussian method on complete data, on standardised columns, and its copula method with "
        "gaps; the start of R does not count. BayesianKGL and KGL-N have their defaults. "
        "GraphicalLassoCV ranks pairs by partial correlations, with gaps filled by column means. "
        "Means over graphs ± standard errors (jackknife); APS, Brier score and ECE (expected "
        "calibration error, ten bins) are over all pairs.",
    ]
    for kind in KINDS:
        if _rows(report, "bdgraph", kind):
            lines += ["", *_methods_table(report, kind)]
    lines += [
        "",
        "Paired differences on the same graphs, with 95 % intervals. For all but APS, less is "
        "better:",
        "",
        *_differences_table(report),
    ]
    if report["times"]:
        lines += [
            "",
            f"BayesianKGL by number of nodes ({given['n']} observations, complete, defaults; "
            "memory is that of the whole process, libraries included):",
            "",
            *_times_table(report),
        ]
    return "\n".join(lines)
