"""Ratings of 32 sushis by people of whom ten things are known (Kamishima's SUSHI data)."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgl._optional import import_optional
from kgl._types import Array

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "FEATURES",
    "GROUPS",
    "Sushi",
    "assemble",
    "check_min_rated",
    "read_items",
    "read_reviewers",
    "read_scores",
]

#: The paper's five groups, in its order, and their codes among the twelve minor groups.
GROUPS = {"red-meat": 1, "clam": 4, "blue-skinned": 0, "vegetable": 11, "roe": 7}

#: Attributes of items in the file, besides the minor group, which is its third.
_ATTRIBUTES = ("style", "major_group", "oiliness", "eaten", "price", "sold")
_ITEM_LABELS = {"style": ("maki", "other"), "major_group": ("seafood", "not seafood")}

#: Features of people: what codes stand for, or the largest code, or None for a number.
FEATURES: dict[str, tuple[str, ...] | int | None] = {
    "gender": ("male", "female"),
    "age": None,
    "seconds": None,
    "prefecture_young": 47,
    "region_young": 11,
    "eastwest_young": ("east", "west"),
    "prefecture_now": 47,
    "region_now": 11,
    "eastwest_now": ("east", "west"),
    "moved": ("no", "yes"),
}


@dataclass(frozen=True, eq=False)
class Sushi:
    """Ratings of sushis, with attributes of the sushis and features of those who rated them.

    Attributes
    ----------
    ratings : DataFrame (reviewers, 32 items)
        1.0 (most disliked) to 5.0 (most liked), NaN where not rated. The index is the number of the
        reviewer's line in the file, from 0. Items are in the order of the groups.
    x : DataFrame (32, 6)
        ``style`` ("maki", "other") and ``major_group`` ("seafood", "not seafood") as categories;
        ``oiliness`` (mean answer, 0 oiliest to 4), ``eaten`` (0 to 3, 3 often), ``price``
        (normalised) and ``sold`` (share of shops) as numbers.
    groups : Series (32,)
        The group of each item: "red-meat", "clam", "blue-skinned", "vegetable" or "roe".
    z : DataFrame (reviewers, 10)
        ``gender``; ``age``, a number from 0 (15 to 19 years) by decades to 5 (60 and over);
        ``seconds`` taken over the questionnaire; ``prefecture``, ``region`` (codes) and
        ``eastwest`` of where they lived until 15 (``_young``) and live now (``_now``); ``moved``,
        whether the prefectures differ. All but age and seconds are categories.
    simulated : bool
        Whether this is the stand-in and not the real data.
    origin : str
        Where the data come from, in one line.
    """

    ratings: pd.DataFrame
    x: pd.DataFrame
    groups: pd.Series[Any]
    z: pd.DataFrame
    simulated: bool
    origin: str

    @property
    def attributes(self) -> pd.DataFrame:
        """`x` as numbers: style 0 for maki, 1 for others; major_group 0 for seafood, 1 for not."""
        codes = {name: self.x[name].cat.codes.astype(float) for name in _ITEM_LABELS}
        return self.x.assign(**codes)

    @property
    def sparsity(self) -> float:
        """Share of the cells of `ratings` that are not rated."""
        return float(self.ratings.isna().to_numpy().mean())


def check_min_rated(value: Any) -> int:
    """Return the least number of ratings if it is an integer from 0 to 10."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number <= 10:
        raise ValueError(
            f"min_rated = {value!r}; pass an integer from 0 (all reviewers) to 10 (everybody "
            "rated ten items of the hundred)"
        )
    return number


def assemble(
    names: list[str],
    groups: list[str],
    attributes: Array,
    features: Array,
    ratings: Array,
    *,
    min_rated: int,
    simulated: bool,
    origin: str,
) -> Sushi:
    """Put arrays of codes and numbers into a `Sushi`; ratings are 1 to 5, NaN if there is none."""
    pd = import_optional("pandas", "data", "load_sushi")
    items = pd.Index(names, name="item")
    kept = np.flatnonzero((~np.isnan(ratings)).sum(axis=1) >= min_rated)
    reviewers = pd.Index(kept, name="reviewer")

    def category(codes: Array, labels: Any) -> Any:
        return pd.Categorical.from_codes(codes.astype(int), categories=list(labels))

    x = {}
    for column, name in zip(attributes.T, _ATTRIBUTES, strict=True):
        x[name] = category(column, _ITEM_LABELS[name]) if name in _ITEM_LABELS else column
    z = {}
    for column, (name, levels) in zip(features[kept].T, FEATURES.items(), strict=True):
        if levels is None:
            z[name] = column
        else:
            z[name] = category(column, range(levels + 1) if isinstance(levels, int) else levels)
    return Sushi(
        ratings=pd.DataFrame(ratings[kept], index=reviewers, columns=items),
        x=pd.DataFrame(x, index=items),
        groups=pd.Series(
            pd.Categorical(groups, categories=list(GROUPS)), index=items, name="group"
        ),
        z=pd.DataFrame(z, index=reviewers),
        simulated=simulated,
        origin=origin,
    )


# ------------------------------------------------------------------------------------ files


def _fields(path: Path, separator: str) -> list[list[str]]:
    """Return the fields of every line; the file is verified, so its form is known."""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    return [line.rstrip("\r").split(separator) for line in lines if line]


def read_items(path: Path) -> tuple[list[str], Array]:
    """Read names and attributes (items x 7, minor group third) of all items."""
    rows = _fields(path, "\t")
    return [row[1] for row in rows], np.array([row[2:] for row in rows], dtype=float)


def read_reviewers(path: Path) -> Array:
    """Read the ten features (reviewers x 10, all codes or numbers) of all reviewers."""
    return np.array([row[1:] for row in _fields(path, "\t")], dtype=float)


def read_scores(path: Path) -> Array:
    """Read the scores as ratings from 1 to 5, NaN for -1, not rated."""
    scores = np.array(_fields(path, " "), dtype=float)
    return np.where(scores < 0, np.nan, scores + 1.0)
