"""Tables and the figure of whole fits and of long tables, for ``docs/scale.md``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.scale.page import COLORS, Numbers, save, table

__all__ = ["draw", "fit_tables", "row_tables"]


def _found(known: Numbers, prefix: str) -> dict[str, dict[str, Any]]:
    """Return the tasks with a prefix that ended, by the rest of their names."""
    return {
        name.removeprefix(prefix): numbers for name, numbers in known.items()
        if name.startswith(prefix) and "stopped_after_s" not in numbers
    }  # fmt: skip


def _whole(known: Numbers) -> list[dict[str, Any]]:
    """Return the whole fits with psi found for a degree, smallest first."""
    found = _found(known, "fits:kgl_")
    rows = [numbers for name, numbers in found.items() if not name.endswith("_psi")]
    return sorted(rows, key=lambda row: (row["missing"], row["m"], row["signed"]))


def fit_tables(known: Numbers) -> str:
    """Return the tables of whole fits."""
    rows = [
        [
            f"{row['m']:,} x {row['n']:,}", "half" if row["missing"] else "none",
            "yes" if row["signed"] else "no", f"{row['cpu_s']:.1f}", f"{row['peak_mb']:.0f}",
            f"{row['degree']:.1f}", str(row["n_iter"]), f"{row['residual']:.0e}",
            f"{row['violated']} of {row['examined']:.2g}",
        ]
        for row in _whole(known)
    ]  # fmt: skip
    head = ["nodes x observations", "missing", "signed", "CPU s", "MB", "degree", "iterations",
            "KKT residual", "violated pairs"]  # fmt: skip
    parts = [table(head, rows)] if rows else []
    same = _found(known, "fits:same_")
    rows = [
        [
            f"{row['m']:,}", "yes" if row["signed"] else "no", f"{row['edges']:,}",
            str(row["edges_different"]), f"{row['weights_differ']:.0e}",
            f"{row['signals_differ']:.0e}", f"{row['cpu_s']:.1f}", f"{row['dense_cpu_s']:.1f}",
        ]
        for row in same.values()
    ]  # fmt: skip
    if rows:
        head = ["nodes", "signed", "edges", "edges that differ", "weights differ by",
                "signals differ by", "CPU s", "dense: CPU s"]  # fmt: skip
        parts += ["Against the dense fit, at one psi:", table(head, rows)]
    crossing = sorted(_found(known, "fits:crossing_").values(), key=lambda row: row["m"])
    rows = [
        [f"{row['m']:,}", f"{row['sparse_cpu_s']:.2f}", f"{row['newton_cpu_s']:.2f}"]
        for row in crossing
    ]
    if rows:
        head = ["nodes", "sparse: CPU s", "dense: CPU s"]
        parts += ["Whole fits of few nodes, ten neighbours each:", table(head, rows)]
    rows = [
        [
            f"{row['kernel_tol']:.0e}",
            f"{row['trace_error']:.0e}",
            str(row["rank"]),
            f"{row['edges_different']} of {row['edges']:,}",
            f"{row['weights_differ']:.0e}",
        ]
        for row in _traces(known)
    ]
    if rows:
        head = ["`kernel_tol`", "trace left out", "rank", "edges that differ", "weights differ by"]
        parts += [
            "A Gaussian kernel of 1,000 nodes in space, at looser tolerances than 1e-12:",
            table(head, rows),
        ]
    return "\n\n".join(parts)


def _traces(known: Numbers) -> list[dict[str, Any]]:
    return sorted(_found(known, "fits:trace_").values(), key=lambda row: -row["kernel_tol"])


def row_tables(known: Numbers) -> str:
    """Return the tables of long tables."""
    rows = []
    for label, prefix in (("independent", "rows:rows-1"), ("dependent", "rows:dependent-")):
        found = sorted(_found(known, prefix).values(), key=lambda row: row["n"])
        rows += [
            [
                f"{row['n']:,.0f} x {row['m']:.0f}", label, f"{row['cpu_s_compress']:.2f}",
                f"{row['cpu_s']:.2f}", f"{row['mb_above_imports']:.0f}",
                f"{row['kkt_residual']:.0e}",
            ]
            for row in found
        ]  # fmt: skip
    head = ["rows x nodes", "rows are", "`compress`: CPU s", "with the fit: CPU s",
            "MB above imports", "KKT residual"]  # fmt: skip
    parts = [table(head, rows)] if rows else []
    cut = known.get("rows:rows-chunkings")
    if cut is not None:
        parts.append(
            f"{cut['n']:,.0f} rows read in six ways (slices, pieces of 33 to 50,000 rows, sums, "
            f"`partial_fit`), each against one array: {cut['edges_different']:.0f} edges differ, "
            f"weights by {cut['largest_difference']:.0e} of the largest at most."
        )
    return "\n\n".join(parts)


def draw(known: Numbers) -> None:
    """Draw whole fits over m, long tables over n, and edges changed over the trace left out."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import matplotlib.ticker

    figure, axes = plt.subplots(2, 2, figsize=(8, 6), layout="constrained")
    axes = axes.ravel()
    whole = _whole(known)
    for signed, color in zip((False, True), COLORS, strict=True):
        for missing, style in ((0.0, "o-"), (0.5, "s--")):
            rows = [r for r in whole if r["signed"] == signed and r["missing"] == missing]
            if not rows:
                continue
            label = f"{'signed' if signed else 'unsigned'}, {'half' if missing else 'none'} missing"
            _line(axes[0], rows, "m", "cpu_s", style, color, label)
            _line(axes[1], rows, "m", "peak_mb", style, color, label)
    for label, prefix, color in (
        ("independent rows, 200 nodes", "rows:rows-1", COLORS[0]),
        ("dependent rows, 100 nodes", "rows:dependent-", COLORS[1]),
    ):
        rows = sorted(_found(known, prefix).values(), key=lambda row: row["n"])
        _line(axes[2], rows, "n", "cpu_s", "o-", color, label)
    traces = _traces(known)
    axes[3].plot(
        [row["trace_error"] for row in traces],
        [100 * row["edges_different"] / row["edges"] for row in traces],
        "o-", color=COLORS[0],
    )  # fmt: skip
    axes[3].set_xscale("log")
    for axis, x, y, title in zip(
        axes,
        ("nodes", "nodes", "rows", "share of the trace left out"),
        ("CPU seconds, one thread", "peak of the process, MB", "CPU seconds, one thread",
         "edges that differ, %"),
        ("Time of a fit of KGL", "Memory", "Many rows: compress and fit", "Kernel tolerance"),
        strict=True,
    ):  # fmt: skip
        axis.set(xlabel=x, ylabel=y, title=title)
        axis.grid(alpha=0.25)
    for axis in axes[:3]:
        plain = mpl.ticker.FuncFormatter(lambda value, _: f"{value:,g}")
        axis.yaxis.set_major_formatter(plain)
        axis.xaxis.set_major_formatter(plain)
        axis.xaxis.set_minor_formatter(mpl.ticker.NullFormatter())
        axis.yaxis.set_minor_formatter(mpl.ticker.NullFormatter())
        axis.legend(fontsize=8)
    for axis in axes[:2]:
        sizes = sorted({row["m"] for row in whole})
        axis.set_xticks(sizes)
    axes[1].set_yticks([100, 200, 400, 800])
    axes[0].set_yticks([1, 2, 5, 10, 20])
    save(figure, "scale-fits.svg")
    plt.close(figure)


def _line(
    axis: Any, rows: list[dict[str, Any]], x: str, y: str, style: str, color: str, label: str
) -> None:
    plot: Callable[..., Any] = axis.loglog
    plot([row[x] for row in rows], [row[y] for row in rows], style, color=color, label=label)
