"""What was done, in words: for the terminal and for the report page."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgl.command.inputs import Inputs
from kgl.command.learning import LIGHT, Learned, Task
from kgl.command.withheld import SHARE, Score

if TYPE_CHECKING:
    from kgl.command.arguments import Arguments

__all__ = [
    "facts",
    "file_name",
    "score_lines",
    "sentence",
    "strongest",
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
    sure = learned.sure
    likely = "" if sure is None else f" of probability {sure.least:g} or more"
    return (
        f"{len(learned.edges)} edges{likely} among {m} nodes ({share:.0%} of {pairs} pairs), "
        f"learned by {learned.model._spec.name} from {n} rows"
        + (f", {_missing(inputs):.1%} of the values missing" if _missing(inputs) else "")
    )


def _missing(inputs: Inputs) -> float:
    return float(np.isnan(inputs.Y).mean())


def strongest(inputs: Inputs, learned: Learned, count: int = 10) -> list[str]:
    """Return lines with the heaviest or most probable edges."""
    shown = learned.edges[:count]
    if not shown:
        return []
    names = [_cut(name) for name in inputs.names]
    left = max(len(names[i]) for i, _, _ in shown)
    right = max(len(names[j]) for _, j, _ in shown)
    lines = [
        f"{names[i]:<{left}}  {names[j]:<{right}}  {_strength(learned, i, j)}"
        + ("  opposite" if learned.sign(i, j) < 0 else "")
        for i, j, _ in shown
    ]
    what = "heaviest edges (weight)"
    if learned.sure is not None:
        what = "most probable edges (probability; weight, 90 % interval)"
    return [f"the {len(shown)} {what}:", *(f"  {line}" for line in lines)]


def _strength(learned: Learned, i: int, j: int) -> str:
    weight = f"{learned.weights[i, j]:.4f}"
    sure = learned.sure
    if sure is None:
        return weight
    return f"{sure.values[i, j]:.2f}  {weight} ({sure.low[i, j]:.4f} to {sure.high[i, j]:.4f})"


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
        + (f"; 90 % intervals cover {score.coverage:.0%}" if score.coverage is not None else "")
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
        *(_drawn(model) if learned.sure is not None else [("Certificate", _certificate(model))]),
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


def _certificate(model: Any) -> str:
    return (
        f"relative KKT residual {model.kkt_residual_:.1e} (0 is an exact optimum of the graph "
        f"step); {'converged' if model.converged_ else 'NOT converged'} after "
        f"{model.n_iter_} iteration{'s' if model.n_iter_ != 1 else ''}"
    )


def _drawn(model: Any) -> list[tuple[str, str]]:
    """Return what is known of a fit that draws graphs."""
    found = []
    if model._ready.informed["x"]:
        side = model.side_strength()
        found.append(
            (
                "Do covariates of nodes matter?",
                f"with probability {side['probability']:.2f}; strength {side['mean']:.2f} (90 %: "
                f"{side['low']:.2f} to {side['high']:.2f}), the standard deviation over pairs of "
                "the log odds of an edge before the data",
            )
        )
    r_hat, ess = (model.convergence_[name]["edge_probability"] for name in ("r_hat", "ess"))
    found.append(
        (
            "Convergence",
            f"{model.n_chains_} chains, {model.n_draws_} draws each: "
            f"{'converged' if model.converged_ else 'NOT converged'}; of all but one in twenty "
            f"probabilities R-hat is at most {r_hat:.2f} (1 is best) and the effective sample size "
            f"at least {ess:.0f}; largest Monte Carlo error {model.edge_error_.max():.2f}",
        )
    )
    return found


def _hyperparameters(learned: Learned) -> str:
    model = learned.model
    if learned.sure is not None:
        return ", which draws graphs and signals from their posterior distribution"
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
    if learned.sure is not None:
        wanted = "learned too" if args.density is None else f"{args.density:g} was believed"
        return f"{learned.model.density_:.3f} of all pairs are edges, on average ({wanted})"
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
    if task.bayesian:
        text += (
            " For this the model was fitted again with at most {n_chains} chains of {n_draws} "
            "draws, fewer than for the graph. Its 90 % intervals should cover about 90 % of the "
            "values.".format(**LIGHT)
        )
    worse = [s for s in scores if s.model is not None and s.model > min(s.mean, s.interpolation)]
    if worse:
        where = " and ".join(withheld_as(score) for score in worse)
        text += f" A simple baseline predicts {where} better here: prefer it for such gaps."
    return text
