"""Tables and figures of the stored numbers, for ``docs/scale.md``."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.page import renew
from benchmarks.scale import report_fits
from benchmarks.scale.page import COLORS, PAGE, Numbers, save, table
from benchmarks.scale.route import SHARES

__all__ = ["exponents", "graph_tables", "write"]

#: Smaller problems are overhead for the most part, and would make exponents look good.
SMALLEST = 6000
REGULARIZERS = ("frobenius", "log-degree")


def exponents(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the exponents of CPU seconds and of memory over m, from sizes that are not small.

    Memory is what the step adds to that of the data.
    """
    use = [row for row in rows if row["m"] >= SMALLEST]
    if len(use) < 2:
        return float("nan"), float("nan")
    log_m = np.log([row["m"] for row in use])
    time = np.polyfit(log_m, np.log([row["cpu_s"] for row in use]), 1)[0]
    added = np.log([row["peak_mb"] - row["before_mb"] for row in use])
    return float(time), float(np.polyfit(log_m, added, 1)[0])


def _series(known: Numbers, kind: str, regularizer: str) -> list[dict[str, Any]]:
    """Return the numbers of one kind of task over m, in the order of m."""
    found = [
        numbers for name, numbers in known.items()
        if name.startswith(f"graph:{kind}-") and name.endswith(regularizer) and "cpu_s" in numbers
    ]  # fmt: skip
    return sorted(found, key=lambda numbers: numbers["m"])


def graph_tables(known: Numbers) -> str:
    """Return the tables of the graph step."""
    parts = []
    for regularizer in REGULARIZERS:
        sparse = _series(known, "step", regularizer)
        if not sparse:
            continue
        by_size = {row["m"]: row for row in _series(known, "dense", regularizer)}
        rows = []
        for row in sparse:
            other = by_size.get(row["m"])
            beside = ["-"] * 2 if other is None else [
                f"{other['cpu_s']:.2f} ({other['cpu_s'] / row['cpu_s']:.1f} times)",
                f"{other['peak_mb']:.0f} ({other['peak_mb'] / row['peak_mb']:.1f} times)",
            ]  # fmt: skip
            rows.append([
                f"{row['m']:,}", f"{row['degree']:.1f}", f"{row['cpu_s']:.2f}",
                f"{row['peak_mb']:.0f}", *beside, str(row["rounds"]), f"{row['residual']:.0e}",
                f"{row['violated']} of {row['examined']:.2g}",
            ])  # fmt: skip
        head = ["nodes", "degree", "CPU s", "MB", "dense: CPU s", "dense: MB", "rounds",
                "KKT residual", "violated pairs"]  # fmt: skip
        time, memory = exponents(sparse)
        parts.append(
            f"**{regularizer}**: exponent of time {time:.2f}, of memory {memory:.2f} "
            f"(from {SMALLEST:,} nodes).\n\n{table(head, rows)}"
        )
    return "\n\n".join([*parts, *_lost_table(known), *_checks(known), *_routes(known)])


def _lost_table(known: Numbers) -> list[str]:
    found = {r: known.get(f"graph:lost-{r}") for r in REGULARIZERS}
    rows = []
    sizes: list[int] = []
    for regularizer, numbers in found.items():
        if numbers is not None:
            sizes = sorted(int(name[5:]) for name in numbers if name.startswith("lost_"))
            shares = [f"{100 * numbers[f'lost_{k}']:.1f} %" for k in sizes]
            rows.append([regularizer, f"{numbers['degree']:.1f}", *shares])
    if not rows:
        return []
    head = ["edges lost", "degree", *(f"k = {k}" for k in sizes)]
    return ["Without the certificate, over the k nearest neighbours alone:", table(head, rows)]


def _checks(known: Numbers) -> list[str]:
    rows = []
    for regularizer in REGULARIZERS:
        same, check = (
            known.get(f"graph:same-{regularizer}"),
            known.get(f"graph:check-20000-{regularizer}"),
        )
        if same is not None:
            rows.append([
                f"{same['problems']} problems up to 2,000 nodes against dense, {regularizer}",
                f"{same['edges_that_differ']} edges differ, "
                f"weights by {same['relative_difference']:.0e} at most",
            ])  # fmt: skip
        if check is not None:
            rows.append([
                f"all {check['pairs']:,} pairs of 20,000 nodes, other code, {regularizer}",
                f"{check['violated']} violated; worst {check['worst']:.0e}",
            ])  # fmt: skip
    return [table(["check", "result"], rows)] if rows else []


def _routes(known: Numbers) -> list[str]:
    rows, ratios = [], []
    for name, numbers in known.items():
        if not name.startswith("route:auto-"):
            continue
        cells = []
        for share in SHARES:
            ratio = numbers[f"auto_{share:g}"] / numbers[f"newton_{share:g}"]
            ratios.append(ratio)
            cells.append(f"{ratio:.2f} {numbers[f'way_{share:g}']}")
        _, size, *regularizer, given = name.split("-")
        rows.append((int(size), [f"{int(size):,}", "-".join(regularizer), given, *cells]))
    if not rows:
        return []
    head = ["nodes", "regularizer", "given", *(f"{100 * share:g} %" for share in SHARES)]
    text = (
        'CPU seconds of `solver="auto"` by those of `"newton"`, and the fit that it chose, over '
        f"the share of pairs that are edges; {max(ratios):.2f} at most:"
    )
    return [text, table(head, [row for _, row in sorted(rows)])]


def peer_tables(known: Numbers) -> str:
    """Return the tables of other programs."""
    parts = []
    rows = []
    for name, label in (("kgl", "kgl"), ("gmgm", "GmGM"), ("glasso", "scikit-learn: glasso")):
        numbers = known.get(f"peers:cells-{name}")
        if numbers is None:
            continue
        if "cpu_s" not in numbers:
            rows.append([label, f"stopped after {numbers['stopped_after_s']:.0f} s", *["-"] * 4])
            continue
        if numbers.get("converged") == 0.0:
            label += f", not converged in {numbers['n_iter']} sweeps"
        rows.append([
            label, f"{numbers['cpu_s']:.2f}", f"{numbers['peak_mb']:.0f}",
            f"{numbers['degree']:.1f}", f"{100 * numbers['same_class']:.1f} %",
            f"{100 * numbers['same_class_by_chance']:.1f} %",
        ])  # fmt: skip
    if rows:
        head = ["2,019 cells", "CPU s", "MB", "degree", "edges within a class", "by chance"]
        parts.append(table(head, rows))
    found = known.get("peers:pygsp2-1000")
    if found is not None:
        rows = [["kgl", f"{found['kgl_cpu_s']:.2f}", f"{found['kgl_objective']:.8g}",
                 f"{found['kgl_residual']:.0e}"]]  # fmt: skip
        for label in ("default", "small_step"):
            failed = found[f"pygsp2_{label}_failed"]
            rows.append([
                f"pygsp2, {label.replace('_', ' ')}", f"{found[f'pygsp2_{label}_cpu_s']:.2f}",
                "not a number" if failed else f"{found[f'pygsp2_{label}_objective']:.8g}",
                "-" if failed else f"{found[f'pygsp2_{label}_residual']:.0e}",
            ])  # fmt: skip
        head = ["log-degree, 1,000 nodes", "CPU s", "objective", "KKT residual"]
        parts.append(table(head, rows))
    return "\n\n".join(parts)


def draw(known: Numbers) -> None:
    """Draw time and memory over m, and edges lost over k."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for regularizer, color in zip(REGULARIZERS, COLORS, strict=True):
        for kind, style in (("step", "o-"), ("dense", "s--")):
            rows = _series(known, kind, regularizer)
            if not rows:
                continue
            m = [row["m"] for row in rows]
            label = f"{regularizer}, {'all pairs proved' if kind == 'step' else 'dense'}"
            axes[0].loglog(m, [row["cpu_s"] for row in rows], style, color=color, label=label)
            axes[1].loglog(m, [row["peak_mb"] for row in rows], style, color=color)
        lost = known.get(f"graph:lost-{regularizer}", {})
        k = sorted(int(name[5:]) for name in lost if name.startswith("lost_"))
        shares = [100 * lost[f"lost_{size}"] for size in k]
        axes[2].plot(k, shares, "o-", color=color, label=regularizer)
    axes[0].set(xlabel="nodes", ylabel="CPU seconds, one thread", title="Time of a graph step")
    axes[1].set(xlabel="nodes", ylabel="peak of the process, MB", title="Memory")
    axes[2].set(xlabel="nearest neighbours k", ylabel="edges lost, %",
                title="Nearest neighbours alone")  # fmt: skip
    axes[0].legend(fontsize=7)
    for axis in axes:
        axis.grid(alpha=0.25)
    save(figure, "scale-graph.svg")
    plt.close(figure)


def write(known: Numbers) -> None:
    """Renew the tables of docs/scale.md, and draw its figures."""
    draw(known)
    report_fits.draw(known)
    for name, part in (
        ("graph", graph_tables(known)),
        ("fits", report_fits.fit_tables(known)),
        ("rows", report_fits.row_tables(known)),
        ("peers", peer_tables(known)),
    ):
        renew(PAGE, f"scale-{name}", part)
