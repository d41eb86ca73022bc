"""The registered design: unstated settings with their priors, cells to simulate, statements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log10
from typing import Any

from experiments.lookup import ConfigError, conf_dir, suggest

__all__ = ["DEPENDENT", "INDEPENDENT", "Score", "Statement", "load_design", "parts", "statements"]

#: Models of each kind of data; the first of each uses K_x.
INDEPENDENT = ("kgln", "gl", "gl2step")
DEPENDENT = ("kgl", "kglo", "kglagnostic")


def load_design(name: str) -> dict[str, Any]:
    """Read ``conf/inference/<name>.yaml``; a file may build on another one with ``defaults``."""
    from omegaconf import OmegaConf

    folder = conf_dir() / "inference"
    known = sorted(path.stem for path in folder.glob("*.yaml"))
    if name not in known:
        raise ConfigError(f"conf/inference/{name}.yaml does not exist; {suggest(name, known)}")
    plain: Any = OmegaConf.to_container(OmegaConf.load(folder / f"{name}.yaml"))
    merged: Any = {}
    for parent in plain.pop("defaults", []):
        merged = OmegaConf.merge(merged, load_design(parent))
    found: dict[str, Any] = OmegaConf.to_container(OmegaConf.merge(merged, plain))  # type: ignore[assignment]
    for factor in found["factors"].values():
        if factor["prior"] == "log":
            factor["prior"] = _log_gaps(factor["values"])
    _check(found, f"conf/inference/{name}.yaml")
    return found


def _log_gaps(values: Sequence[float]) -> list[float]:
    """Return weights that give equal ratios the same weight: half of the gaps to both neighbours.

    Examples
    --------
    >>> [round(x, 6) for x in _log_gaps([1, 10, 1000])]
    [1.0, 1.5, 2.0]
    """
    logs = [log10(value) for value in values]
    inner = [(b - a) / 2 for a, b in zip(logs[:-2], logs[2:], strict=True)]
    return [logs[1] - logs[0], *inner, logs[-1] - logs[-2]] if logs[1:] else [1.0]


def _check(design: Mapping[str, Any], file: str) -> None:
    for name, factor in design["factors"].items():
        if len(factor["values"]) != len(factor["prior"]) or min(factor["prior"]) < 0:
            raise ConfigError(
                f"{file}: factors.{name} has {len(factor['values'])} values and "
                f"{len(factor['prior'])} prior weights; give one weight, at least 0, for each"
            )
    if len(set(design["seeds"].values())) < len(design["seeds"]):
        raise ConfigError(f"{file}: seeds are equal: {design['seeds']}; give each its own")
    statements(design)  # refuses what cannot be read


@dataclass(frozen=True)
class Score:
    """A score of an oracle-tuned fit: ``gl aps noise 0.5``, ``kgl aps missing 0 ba``."""

    model: str
    metric: str
    axis: str
    level: float
    family: str = "sbm"
    n: int | None = None


@dataclass(frozen=True)
class Statement:
    """A sentence of the paper as an inequality.

    Attributes
    ----------
    claim, text : str
        Of the ledger; what it states.
    terms : tuple of tuple of (sign, Score)
        The signed scores whose sum is compared, for each level; the worst level counts.
    kind : {"at_least", "at_most", "near"}
        How the sum is compared.
    target, within : float
        With what; how far from it is still near.
    tolerance : float
        The unit of shortfalls.
    """

    claim: str
    text: str
    terms: tuple[tuple[tuple[int, Score], ...], ...]
    kind: str
    target: float
    within: float
    tolerance: float

    @property
    def experiment(self) -> str:
        """Noise, missing entries or sizes, as the letters of claims have it."""
        return {"N": "noise", "M": "missing", "S": "sizes"}[self.claim[0]]


_SCORE = re.compile(
    r"(?P<model>\w+) (?P<metric>aps|sse) (?P<axis>noise|missing|mild) (?P<level>[\d.]+)"
    r"(?: (?P<family>sbm|er|ba))?(?: n=(?P<n>\d+))?"
)


@cache
def _score(text: str) -> Score:
    found = _SCORE.fullmatch(text)
    if found is None or found["model"] not in (*INDEPENDENT, *DEPENDENT):
        raise ConfigError(
            f"statement with the score {text!r}, which cannot be read; write it as in "
            "'gl aps noise 0.5' or 'kgl aps missing 0 ba'"
        )
    n = int(found["n"]) if found["n"] else None
    return Score(
        found["model"], found["metric"], found["axis"], float(found["level"]),
        found["family"] or "sbm", n,
    )  # fmt: skip


def statements(design: Mapping[str, Any]) -> list[Statement]:
    """Return the sentences of the paper as the design has them."""
    made = []
    for row in design["statements"]:
        kinds = [key for key in ("at_least", "at_most", "near") if key in row]
        if len(kinds) != 1:
            raise ConfigError(
                f"statement {row['text']!r} has {len(kinds)} of at_least, at_most, near; give one"
            )
        kind = kinds[0]
        terms = []
        for level in row.get("over", [0]):
            text = row["score"].replace("{x}", f"{level:g}")
            parts = re.split(r" ([+-]) ", f" + {text}")[1:]
            signed = zip(parts[::2], parts[1::2], strict=True)
            terms.append(tuple((1 if sign == "+" else -1, _score(one)) for sign, one in signed))
        limits = (
            float(row[kind]),
            row.get("within", 0.0),
            row.get("tolerance", design["tolerance"]),
        )
        made.append(Statement(row["claim"], row["text"], tuple(terms), kind, *limits))
    return made


def parts(design: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the jobs of the study by name: cells that share alpha, n and the kind of data."""
    factors = {name: factor["values"] for name, factor in design["factors"].items()}
    made: dict[str, dict[str, Any]] = {}

    def add(kind: str, data: str, alpha: float, n: int) -> None:
        name = f"{kind}-{data}-alpha{alpha:g}-n{n}"
        made[name] = {"kind": kind, "data": data, "alpha": alpha, "n": n}

    for n in factors["n"]:
        for alpha in factors["alpha"]:
            for data in ("independent", *factors["bandwidth"]):
                add("noise", data, alpha, n)
                if alpha in design["missing"]["alpha"]:
                    add("missing", data, alpha, n)
            for data in ("independent", *design["printed"]["bandwidths"]):
                add("printed", data, alpha, n)
    return made
