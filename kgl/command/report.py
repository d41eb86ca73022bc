"""The report page: one HTML file that works offline and asks for nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from kgl.command.inputs import Attribute, Inputs
from kgl.command.layout import place_nodes
from kgl.command.learning import Learned, Task, sorted_pairs
from kgl.command.palette import CIVIDIS, OKABE_ITO, OTHER, categories
from kgl.command.summary import facts, file_name, sentence, withheld_as, withheld_note
from kgl.command.withheld import HALF, Score

if TYPE_CHECKING:
    from kgl.command.arguments import Arguments

__all__ = ["make_page"]

#: Pairs that are less probable are not on the page, whose slider shows all others.
_LEAST = 0.05
#: Filled-in values that the page lists, at most.
_MOST_FILLED = 5000


def make_page(
    inputs: Inputs,
    learned: Learned,
    task: Task,
    args: Arguments,
    scores: Sequence[Score],
    seconds: float,
) -> str:
    """Return the page as text."""
    style, script = _asset("page.css"), _asset("page.js")
    title = f"Graph of {file_name(args.data)}"
    done = facts(inputs, learned, args, seconds)
    sure = learned.sure is not None
    parts = {
        # hashes rather than 'unsafe-inline': a name that slipped through could still not run
        "policy": "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src '{_digest(style)}'; script-src '{_digest(script)}'",
        "title": escape(title),
        "sentence": escape(sentence(inputs, learned)),
        "measure": "probability" if sure else "weight",
        "head": "Probability" if sure else "Weight",
        "more": _WEIGHT_COLUMN if sure else "",
        "filled": escape(_filled_note(inputs, learned)),
        "style": style,
        "script": script,
        "data": _as_json(_content(inputs, learned, args)),
        "withheld": _withheld(scores, task),
        "note": escape(withheld_note(scores, task)),
        "facts": "".join(f"<dt>{escape(a)}</dt><dd>{escape(b)}</dd>" for a, b in done),
    }
    # one pass, so that nothing that was put in is replaced again
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _asset("page.html"))


def _asset(name: str) -> str:
    return files("kgl.command").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def _as_json(content: Any) -> str:
    """Return JSON that cannot end the element that it is in."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _content(inputs: Inputs, learned: Learned, args: Arguments) -> dict[str, Any]:
    """Return what the script draws."""
    places = place_nodes(inputs, learned, args.seed)
    sure = learned.sure
    degrees, called = learned.weights.sum(axis=1), "degree (sum of weights)"
    if sure is not None:
        degrees, called = sure.values.sum(axis=1), "expected number of neighbors"
    strength = Attribute(called, [round(d, 6) for d in degrees.tolist()], True)
    return {
        "names": inputs.names,
        "places": [[_short(value) for value in pair] for pair in places.tolist()],
        "map": None if inputs.positions is None else list(inputs.positions.names),
        "probability": sure is not None,
        "least": 0.0 if sure is None else sure.least,
        "edges": _edges(learned),
        "filled": _filled(inputs, learned),
        "columns": [_column(one) for one in (*inputs.attributes, strength)],
        "color": _color(inputs, args),
        "sequential": CIVIDIS,
        "categorical": OKABE_ITO,
        "other": OTHER,
    }


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _edges(learned: Learned) -> list[list[float]]:
    """Return ends, strength and sign of each edge; with probabilities, the weight and its interval.

    With probabilities, less likely pairs are there too: the slider begins at the likely ones.
    """
    sure = learned.sure
    if sure is None:
        return [[i, j, _short(weight), learned.sign(i, j)] for i, j, weight in learned.edges]
    shown = np.where(sure.values >= min(_LEAST, sure.least), sure.values, 0.0)
    return [
        [
            i, j, float(sure.values[i, j]), learned.sign(i, j), _short(weight),
            _short(sure.low[i, j]), _short(sure.high[i, j]),
        ]
        for i, j, weight in sorted_pairs(learned.model.weights_, shown)
    ]  # fmt: skip


#: Heading of the column that edges with probabilities have besides.
_WEIGHT_COLUMN = (
    '<th scope="col" class="number"><button type="button">Weight (90 % interval)</button></th>'
)


def _filled(inputs: Inputs, learned: Learned) -> dict[str, Any] | None:
    """Return filled-in values with the ends of their 90 % intervals, column by column."""
    missing = np.argwhere(np.isnan(inputs.Y).T)[:_MOST_FILLED]
    if learned.std is None or learned.signals is None or not len(missing):
        return None
    table, times = inputs.table, inputs.times
    if times is None:
        labels = [f"{table.unit} {line}" for line in table.lines]
    else:
        labels = table.column(times.name)
    cells = []
    for j, i in missing.tolist():
        value, half = learned.signals[i, j], HALF * learned.std[i, j]
        cells.append([j, labels[i], *(_short(v) for v in (value, value - half, value + half))])
    return {"rows": "Row" if times is None else times.name, "cells": cells}


def _filled_note(inputs: Inputs, learned: Learned) -> str:
    """Return what the table of filled-in values holds."""
    missing = int(np.isnan(inputs.Y).sum())
    if not missing:
        return "No value is missing."
    if learned.signals is None:
        return f"{learned.model._spec.name} fills in no values."
    if learned.std is None:
        return (
            "Intervals come with --model bayesian, and with --imputed-std; --imputed writes the "
            f"{missing} missing values alone."
        )
    text = (
        "Each interval covers its value with a probability of 90 %, by the model. Values of the "
        "chosen node are listed, or of all nodes."
    )
    if missing > _MOST_FILLED:
        text += f" These are the first {_MOST_FILLED} of {missing}; --imputed writes all of them."
    return text


def _column(one: Attribute) -> dict[str, Any]:
    column: dict[str, Any] = {"name": one.name, "values": one.values, "numeric": one.numeric}
    if not one.numeric:
        column["categories"] = categories(one.values)
    return column


def _color(inputs: Inputs, args: Arguments) -> int:
    """Return the column that colors the nodes at first: the one asked for, or the most telling."""
    names = [one.name for one in inputs.attributes]
    if args.color is not None:
        return names.index(args.color)
    drawn = () if inputs.positions is None else inputs.positions.names
    return next((k for k, name in enumerate(names) if name not in drawn), len(names))


def _withheld(scores: Sequence[Score], task: Task) -> str:
    """Return the table of errors; the least of each row is marked."""
    if not scores:
        return ""
    name = task.estimator._spec.name
    heads = ["Withheld", "Values", "Mean", "Linear interpolation"]
    heads[2:2] = [name] if task.predicts else []
    heads += ["In 90 % intervals"] if task.bayesian else []
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "".join(_withheld_row(score) for score in scores)
    return f'<table class="errors"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _withheld_row(score: Score) -> str:
    errors = [e for e in (score.model, score.mean, score.interpolation) if e is not None]
    shown = [f"{error:.2f}" for error in errors]
    shown = [f"<strong>{one}</strong>" if one == min(shown, key=float) else one for one in shown]
    cells = "".join(f"<td>{one}</td>" for one in shown)
    cells += "" if score.coverage is None else f"<td>{score.coverage:.0%}</td>"
    pattern = withheld_as(score)
    return f'<tr><th scope="row">{escape(pattern)}</th><td>{score.n_withheld}</td>{cells}</tr>'
