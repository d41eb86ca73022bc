"""Ends of the grid, outer iterations, cost, and how exactly the graph step is solved."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.figures import Inputs, style
from experiments.figures.curves import set_levels, set_values
from experiments.figures.sparsity import paper_value
from experiments.score import AXES, EVERY
from kgl.laplacian import Array

#: Shares, which run from nothing to one.
SHARES = ("aps", "density", "top_share")
#: Other metrics are drawn on a logarithmic axis from this ratio on.
LOG_FROM = 20.0
#: Lines of kinds of data.
DASHES = ("-", "--", ":", "-.")
#: Outer iterations that the paper names.
PAPER_ITERATIONS = 10
#: More decimals than this change no weight: the solver's own digits.
EXACT = 15
#: The psi at which the printed values are hard to reach, and one at which they are not.
HARD, EASY = 1e-1, 1e-3
#: By how much the paper's values stand apart from the others.
AFTER = 0.1


def draw(inputs: Inputs) -> tuple[Figure, pd.DataFrame]:
    """One panel per metric against a hyperparameter, a line per family and kind of data."""
    axis, metrics = inputs.config["options"]["axis"], inputs.config["metrics"]
    rows = _every(inputs)
    numbers = _means(rows[rows["metric"].isin(metrics)], ["graph", "data", "metric", axis])
    numbers["truth"] = np.nan
    density = numbers["metric"] == "density"
    truth = _densities(rows)
    numbers.loc[density, "truth"] = numbers.loc[density, "graph"].map(truth).astype(float)
    families, kinds = (list(dict.fromkeys(numbers[key])) for key in ("graph", "data"))
    columns = 2 if len(metrics) in (2, 4) else min(3, len(metrics))
    lines = -(-len(metrics) // columns)
    width = style.PAGE if columns > 1 else style.COLUMN
    fig = Figure(figsize=(width, 2.0 * lines + 0.4), layout="constrained")
    axes = fig.subplots(lines, columns, squeeze=False, sharex=True)
    for ax in axes.flat[len(metrics) :]:
        ax.set_visible(False)
    for metric, ax in zip(metrics, axes.flat, strict=False):
        part = numbers[numbers["metric"] == metric]
        for k, family in enumerate(families):
            look = _family(inputs, family, k, len(families))
            if metric == "density" and family in truth:
                ax.axhline(truth[family], color=look["color"], linewidth=0.9, linestyle=(0, (6, 4)))
            for kind, dash in zip(kinds, DASHES, strict=False):
                chosen = (part["graph"] == family) & (part["data"] == kind)
                line = part[chosen].sort_values(axis)
                face = {} if kind == kinds[0] else {"markerfacecolor": "white"}
                ax.plot(line[axis], line["mean"], **look, **face, linestyle=dash, markersize=3)
        ax.set_ylabel(style.label(metric))
        ax.set_xscale("log")
        _scale(ax, metric, part["mean"])
    for ax in axes.flat[max(0, len(metrics) - columns) : len(metrics)]:
        ax.set_xlabel(style.label(axis))
    shown = {}
    if len(families) > 1:
        for k, family in enumerate(families):
            look = _family(inputs, family, k, len(families))
            shown[style.title(family, inputs.settings["labels"])] = Line2D([], [], **look)
    plain = {} if len(families) > 1 else _family(inputs, families[0], 0, 1)
    for kind, dash in zip(kinds, DASHES, strict=False):
        face = {} if kind == kinds[0] else {"markerfacecolor": "white"}
        look = {"color": "#333333", "marker": "o", "linestyle": dash, **plain, **face}
        shown[inputs.settings["labels"]["data"][kind]] = Line2D([], [], **look)
    if density.any() and truth:
        shown["true density"] = Line2D([], [], color="#333333", linewidth=0.9,
                                       linestyle=(0, (6, 4)))  # fmt: skip
    _legend(fig, shown)
    return fig, numbers


def convergence(inputs: Inputs) -> tuple[Figure, pd.DataFrame]:
    """Share of fits that are done after so many outer iterations."""
    rows = _every(inputs)
    missing = sorted(rows["missing"].unique())
    kinds = list(dict.fromkeys(rows["data"]))
    colours = mpl.colormaps["viridis"](np.linspace(0.15, 0.7, len(missing)))
    fig = Figure(figsize=(style.COLUMN, 2.6), layout="constrained")
    ax = fig.subplots()
    parts = []
    for kind, dash in zip(kinds, DASHES, strict=False):
        for rate, colour in zip(missing, colours, strict=False):
            part = rows[(rows["data"] == kind) & (rows["missing"] == rate)]
            taken = _taken(part)
            if not len(taken):
                continue
            steps = np.arange(0, int(rows.loc[rows["metric"] == "n_iter", "value"].max()) + 1)
            share = (taken <= steps[:, None]).mean(axis=1)
            name = inputs.settings["labels"]["data"][kind].removesuffix(" data")
            label = f"{name}, {100 * rate:g} % missing"
            ax.step(steps, share, where="post", color=colour, linestyle=dash, label=label)
            known = {"data": kind, "missing": rate}
            parts.append(pd.DataFrame({**known, "quantity": "share of fits done",
                                       "iterations": steps, "value": share}))  # fmt: skip
            rise = part.loc[part["metric"] == "rise", "value"]
            more = {
                "largest rise": rise.max(),
                "fits": len(taken),
                "not done": np.isinf(taken).mean(),
            }
            parts.append(pd.DataFrame([known | {"quantity": name, "iterations": np.nan, "value": v}
                                       for name, v in more.items()]))  # fmt: skip
    numbers = pd.concat(parts, ignore_index=True)
    ax.axvline(PAPER_ITERATIONS, color="#777777", linewidth=1.0, linestyle=":")
    ax.set(xlabel=style.label("n_iter"), ylabel="share of fits done", ylim=(0, 1.02))
    top = float(numbers["iterations"].max())
    if top > 4 * PAPER_ITERATIONS:
        ax.set_xscale("log")
        ax.set_xlim(1, top)
        ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500) if tick <= top]
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.set_xticks([], minor=True)
    else:
        ax.set_xlim(0, max(top, PAPER_ITERATIONS + 1))
    rise = numbers.loc[numbers["quantity"] == "largest rise", "value"].max()
    if np.isfinite(rise):
        text = style.scientific(float(f"{rise:.0e}")) if rise > 0 else "none"
        text = f"largest relative rise\nof the objective: {text}"
        ax.text(0.98, 0.06, text, transform=ax.transAxes, ha="right", fontsize=7)
    _legend(fig, dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True)), ncols=2)
    return fig, numbers


def cost(inputs: Inputs) -> tuple[Figure, pd.DataFrame]:
    """Seconds against n, a line per m, and against m, a line per n."""
    rows = _every(inputs)
    rows, keys = rows[rows["metric"] == "seconds"], ["graph", "data", "model", "m", "n"]
    numbers = _means(rows, keys)
    # other jobs make some runs slow, and none fast
    numbers["median"] = rows.groupby(keys, sort=False)["value"].median().to_numpy()
    fig = Figure(figsize=(style.PAGE, 2.7), layout="constrained")
    axes = fig.subplots(1, 2, sharey=True)
    for ax, (along, other) in zip(axes, (("n", "m"), ("m", "n")), strict=True):
        sizes = sorted(numbers[other].unique())
        # from light to dark with the size, as in figure 5
        colours = mpl.colormaps["viridis"](np.linspace(0.8, 0.0, len(sizes)))
        for k, (size, colour) in enumerate(zip(sizes, colours, strict=True)):
            line = numbers[numbers[other] == size].sort_values(along)
            label = f"${other}$ = {size}"
            ax.plot(
                line[along], line["median"], color=colour, marker="osD^vP*X"[k % 8], label=label
            )
        ax.set_xscale("log")
        ax.set_yscale("log")
        set_levels(ax, numbers[along], log=True)
        ax.set_xlabel(style.label(along))
        _cubic(ax, numbers, along)
        ax.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.22), frameon=False)
    axes[0].set_ylabel(style.label("seconds"))
    return fig, numbers


def precision(inputs: Inputs) -> tuple[Figure, pd.DataFrame]:
    """Average precision of rounded weights, and of those of CVXPY, beside the printed values."""
    rows = _every(inputs)
    numbers = _means(
        rows[rows["metric"] == "aps"], ["graph", "data", "model", "level", "psi", "metric"]
    ).rename(columns={"level": "decimals"})
    numbers["paper"] = [paper_value(g, p) for g, p in zip(numbers["graph"], numbers["psi"],
                                                          strict=True)]  # fmt: skip
    once = {model for names in inputs.config.get("once", {}).values() for model in names}
    exact = [model for model in dict.fromkeys(numbers["model"]) if model not in once]
    families = list(dict.fromkeys(numbers["graph"]))
    decimals = sorted(numbers["decimals"].unique(), reverse=True)
    solvers = [*exact, *(m for m in dict.fromkeys(numbers["model"]) if m in once)]
    fig = Figure(figsize=(style.PAGE, 2.9), layout="constrained")
    left, right = fig.subplots(1, 2, sharey=True, width_ratios=[1.5, 1])
    spread = 0.16
    for k, family in enumerate(families):
        look = style.family(family, k)
        shift = spread * (k - (len(families) - 1) / 2)
        for psi, alpha in ((HARD, 1.0), (EASY, 0.4)):
            part = _at(numbers, family, psi)
            own = part[part["model"].isin(exact)].sort_values("decimals", ascending=False)
            if own.empty:
                continue
            x = np.searchsorted(-np.array(decimals), -own["decimals"]) + shift
            dash = "-" if psi == HARD else "--"
            _bars(left, x, own, alpha=alpha, linestyle=dash, **look)
            _star(left, len(decimals) + AFTER + shift, own["paper"].iloc[0], look, alpha)
        part = _at(numbers, family, HARD)
        for s, solver in enumerate(solvers):
            found = part[part["model"] == solver]
            found = found[found["decimals"] == found["decimals"].max()]
            _bars(right, np.full(len(found), s + shift), found, linestyle="none", **look)
        if len(part):
            _star(right, len(solvers) + AFTER + shift, part["paper"].iloc[0], look, 1.0)
    names = ["exact" if d >= EXACT else f"{d:g}" for d in decimals]
    _ticks(left, [*names, "paper"])
    left.set(xlabel=style.label("decimals"), ylabel=style.label("aps"))
    short = [_backend(inputs.styles[solver]["label"]) for solver in solvers]
    _ticks(right, [*short, "paper"])
    right.set_xlabel(rf"graph step, {style.label('psi')} = {HARD:g}")
    set_values(left, "aps")
    shown: dict[str, Line2D] = {}
    for k, family in enumerate(families):
        name = style.title(family, inputs.settings["labels"])
        shown[name] = Line2D([], [], **style.family(family, k))
    grey: dict[str, Any] = {"color": "#333333"}
    psi = style.label("psi")
    shown[f"{psi} = {HARD:g}"] = Line2D([], [], **grey)
    shown[f"{psi} = {EASY:g}"] = Line2D([], [], alpha=0.5, linestyle="--", **grey)
    shown["paper"] = Line2D([], [], marker="*", markersize=7, linestyle="none", **grey)
    _legend(fig, shown)
    return fig, numbers


# ------------------------------------------------------------------------------------ numbers


def _every(inputs: Inputs) -> pd.DataFrame:
    rows = inputs.table[inputs.table["selected_by"] == EVERY]
    if rows.empty:
        raise ValueError(f"{inputs.study}: the table has no row of every point; set study.points")
    return rows


def _means(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return means and percentiles over replicates."""
    groups = rows.groupby(keys, sort=False)["value"]
    numbers = groups.agg(
        mean="mean",
        p05=lambda v: np.percentile(v, 5),
        p95=lambda v: np.percentile(v, 95),
        runs="count",
    )
    return numbers.reset_index()


def _densities(rows: pd.DataFrame) -> dict[str, float]:
    """Return the true density of each family: the learned one less its error."""
    means = rows[rows["metric"].isin(["density", "density_error"])]
    table = means.pivot_table(index="graph", columns="metric", values="value")
    if set(table.columns) != {"density", "density_error"}:
        return {}
    return (table["density"] - table["density_error"]).to_dict()


def _taken(part: pd.DataFrame) -> Array:
    """Return the iterations of each fit; without end where it stopped before it was done."""
    keys = ["graph", "replicate", *(axis for axis in AXES if axis in part)]
    found = part[part["metric"].isin(["n_iter", "converged"])]
    table = found.pivot(index=keys, columns="metric", values="value")
    if "n_iter" not in table:
        return np.empty(0)
    done = table["converged"] > 0 if "converged" in table else table["n_iter"] > 0
    return table["n_iter"].where(done, np.inf).to_numpy()


def _at(numbers: pd.DataFrame, family: str, psi: float) -> pd.DataFrame:
    near = np.isclose(numbers["psi"], psi, rtol=1e-6, atol=0)
    return numbers[near & (numbers["graph"] == family)]


# -------------------------------------------------------------------------------------- parts


def _family(inputs: Inputs, family: str, k: int, count: int) -> dict[str, Any]:
    """Return the look of a family, or of the model where there is one family."""
    if count > 1:
        return dict(style.family(family, k))
    known = next(iter(inputs.styles.values()))
    return {"color": known["color"], "marker": known["marker"]}


def _scale(ax: Axes, metric: str, means: pd.Series) -> None:
    if metric in SHARES:
        ax.set_ylim(0, 1.02)
    elif means.min() > 0 and means.max() > LOG_FROM * means.min():
        ax.set_yscale("log")
    else:
        ax.set_ylim(0, 1.06 * float(means.max()))


def _cubic(ax: Axes, numbers: pd.DataFrame, along: str) -> None:
    """Draw growth as the third power through the largest time, as far as the times reach."""
    top, most = float(numbers["median"].max()), float(numbers[along].max())
    x = np.array([numbers[along].min(), most], dtype=float)
    y: Array = 1.6 * top * (x / most) ** 3
    floor = float(numbers["median"].min()) / 1.5
    if y[0] < floor:
        x[0], y[0] = most * (floor / (1.6 * top)) ** (1 / 3), floor
    ax.plot(x, y, color="#777777", linestyle=":", linewidth=1.2, label="third power")


def _bars(ax: Axes, x: Any, part: pd.DataFrame, *, alpha: float = 1.0, **look: Any) -> None:
    """Draw means and bars from the 5th to the 95th percentile, as pale as is wanted."""
    colour = mpl.colors.to_rgba(look.pop("color"), alpha)
    style.curve(ax, x, part, color=colour, **look)


def _star(ax: Axes, x: float, value: float, look: dict[str, str], alpha: float) -> None:
    ax.plot(x, value, "*", color=look["color"], alpha=alpha, markersize=7, clip_on=False)


def _ticks(ax: Axes, names: list[str]) -> None:
    """Name the places of an axis; the last, after a line, is the paper's."""
    last = len(names) - 1 + AFTER
    ax.set_xticks([*range(len(names) - 1), last], names)
    ax.axvline(last - 0.5, color="#999999", linewidth=0.6)
    ax.grid(False, axis="x")
    ax.set_xlim(-0.5, last + 0.5)


def _backend(label: str) -> str:
    """Return the backend in the label of a model, or the exact solver.

    Examples
    --------
    >>> _backend("KGL by CVXPY (OSQP)"), _backend("KGL")
    ('OSQP', 'exact')
    """
    return label.partition("(")[2].rstrip(")") or "exact"


def _legend(fig: Figure, shown: dict[str, Any], ncols: int | None = None) -> None:
    fig.legend(list(shown.values()), list(shown), loc="outside lower center", frameon=False,
               ncols=ncols or len(shown), columnspacing=1.4, handlelength=2.4)  # fmt: skip
