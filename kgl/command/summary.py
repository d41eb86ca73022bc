"""What was done, in words: for the terminal and for the report page."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgl.command.inputs import Inputs
from kgl.command.learning import Learned, Task
from kgl.command.withheld import SHARE, Score

if TYPE_CHECKING:
    from kgl.command.arguments import Arguments

__all__ = [
    "facts",
    "file_name",
    "heaviest",
    "score_lines",
    "sentence",
    "withheld_as",
    "withheld_note",
]

#: Least share in the variance of a part of a kernel that is listed.
SHOWN_SHARE = 0.01
PATTERNS = {"entries": "single entries", "blocks": "blocks of consecutive rows"}


def sentence(inputs: Inputs, learned: Learned) -> str:
    """Return the result in one line."""
    n, m = inputs.Y.shape
    pairs = m * (m - 1) // 2
    share = len(learned.edges) / pairs
    return (
        f"{len(learned.edges)} edges among {m} nodes ({share:.0%} of {pairs} pairs), "
        f"learned by {learned.model._spec.name} from {n} rows"
        + (f", {_missing(inputs):.1%} of the values missing" if _missing(inputs) else "")
    )


def _missing(inputs: Inputs) -> float:
    return float(np.isnan(inputs.Y).mean())


def heaviest(inputs: Inputs, learned: Learned, count: int = 10) -> list[str]:
    """Return lines with the heaviest edges."""
    shown = learned.edges[:count]
    if not shown:
        return []
    names = [_cut(name) for name in inputs.names]
    left = max(len(names[i]) for i, _, _ in shown)
    right = max(len(names[j]) for _, j, _ in shown)
    lines = [
        f"{names[i]:<{left}}  {names[j]:<{right}}  {w:.4f}"
        + ("  opposite" if learned.sign(i, j) < 0 else "")
        for i, j, w in shown
    ]
    return [f"the {len(shown)} heaviest edges (weight):", *(f"  {line}" for line in lines)]


def _cut(name: str, length: int = 32) -> str:
    plain = " ".join(name.split())
    return plain if len(plain) <= length else plain[: length - 1] + "…"


def withheld_as(score: Score) -> str:
    """Return how entries were withheld."""
    return PATTERNS[score.pattern]


def score_lines(scores: Sequence[Score], name: str) -> list[str]:
    """Return lines with the errors of withheld values."""
    return [
        f"RMSE of {score.n_withheld} withheld values ({withheld_as(score)}), in standard "
        + "deviations: "
        + (f"{name} {score.model:.2f}, " if score.model is not None else "")
        + f"mean {score.mean:.2f}, linear interpolation {score.interpolation:.2f}"
        for score in scores
    ]


def facts(
    inputs: Inputs, learned: Learned, args: Arguments, seconds: float
) -> list[tuple[str, str]]:
    """Return what was done to the data, as pairs of a term and its description."""
    model, (n, m) = learned.model, inputs.Y.shape
    times = inputs.times
    missing = int(np.isnan(inputs.Y).sum())
    found = [
        ("Data", f"{file_name(args.data)}: {n} rows (observations), {m} columns (nodes)"),
        ("Missing", f"{missing} of {n * m} values ({missing / (n * m):.1%})"),
        (
            "Standardization",
            "each column centered at its mean and divided by its own standard deviation; "
            "filled-in values are given in the units of the data",
        ),
    ]
    if model._logs:
        found.append(
            ("Logarithms", "values grow by factors, so the graph is learned from their logarithms")
        )
    if learned.n_opposite:
        found.append(
            (
                "Signs",
                f"{learned.n_opposite} of {len(learned.edges)} edges link nodes that move opposite "
                "to each other",
            )
        )
    if times is not None:
        kind = "dates" if times.dates else "numbers"
        found.append(("Times", f"column {times.name}: {kind}; {times.first} to {times.last}"))
    if inputs.attributes:
        found.append(("Nodes", _nodes(inputs, args)))
    found += [
        ("Model", f"{model._spec.name}{_hyperparameters(learned)}"),
        ("Kernel over nodes", _kernel(model, "x", inputs.covariates)),
        ("Kernel over rows", _kernel(model, "z", [] if times is None else [times.name])),
        ("Density", _density(learned, args, m)),
        (
            "Certificate",
            f"relative KKT residual {model.kkt_residual_:.1e} (0 is an exact optimum of the graph "
            f"step); {'converged' if model.converged_ else 'NOT converged'} after "
            f"{model.n_iter_} iteration{'s' if model.n_iter_ != 1 else ''}",
        ),
        ("Seed", str(args.seed)),
        ("Time taken", f"{seconds:.1f} s"),
        ("Versions", _versions()),
    ]
    return found + [("Warning", text) for text in learned.warnings]


def file_name(path: str) -> str:
    """Return the name of a file without its folder, which is nobody else's business."""
    return "standard input" if path == "-" else Path(path).name


def _nodes(inputs: Inputs, args: Arguments) -> str:
    used = ", ".join(inputs.covariates)
    text = f"{file_name(args.nodes or '')}: {len(inputs.attributes)} columns"
    if used:
        text += f"; covariates {used}"
    if inputs.positions is not None:
        text += f"; positions {' and '.join(inputs.positions.names)}"
    return text


def _hyperparameters(learned: Learned) -> str:
    model = learned.model
    values = {name: getattr(model, name) for name in ("lam", "rho") if hasattr(model, name)}
    values["psi"] = model.psi_
    return "; " + ", ".join(f"{name} = {value:.4g}" for name, value in values.items())


def _kernel(model: Any, side: str, columns: Sequence[str]) -> str:
    """Return which parts the kernel of one side has, with their share in the variance."""
    fitted = getattr(model._ready, f"kernel_{side}")
    if fitted is None:
        return f"identity: no {'covariates of nodes' if side == 'x' else 'times'} were used"
    shares = sorted(fitted.weights_.items(), key=lambda part: -part[1])
    parts = ", ".join(f"{name} {share:.0%}" for name, share in shares if share >= SHOWN_SHARE)
    return f"of {', '.join(columns)}, weighted by the data: {parts}"


def _density(learned: Learned, args: Arguments, m: int) -> str:
    found = len(learned.edges) / (m * (m - 1) / 2)
    wanted = "the default" if args.density is None else f"{args.density:g} was asked for"
    return f"{found:.3f} of all pairs are edges ({wanted})"


def _versions() -> str:
    names = {
        "kgl": "kernel-graph-learning",
        "NumPy": "numpy",
        "SciPy": "scipy",
        "scikit-learn": "scikit-learn",
        "networkx": "networkx",
    }
    parts = [f"{shown} {version(name)}" for shown, name in names.items()]
    return ", ".join([*parts, f"Python {platform.python_version()}"])


def withheld_note(scores: Sequence[Score], task: Task) -> str:
    """Return how the errors of withheld values are to be read."""
    if not scores:
        return "There are too few values to withhold some of them."
    text = (
        f"About {SHARE:.0%} of the observed values were hidden and predicted from the others. "
        "Errors are root mean squared errors in units of each column's standard deviation: "
        "0 is perfect, and about 1 is what the mean of the column gives."
    )
    if not task.predicts:
        return f"{text} {task.estimator._spec.name} predicts no values."
    worse = [s for s in scores if s.model is not None and s.model > min(s.mean, s.interpolation)]
    if worse:
        where = " and ".join(withheld_as(score) for score in worse)
        text += f" A simple baseline predicts {where} better here: prefer it for such gaps."
    return text
