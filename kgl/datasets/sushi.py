"""Ratings of 32 sushis by people of whom ten things are known (Kamishima's SUSHI data)."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgl._optional import import_optional
from kgl._types import Array
from kgl.datasets.files import DATA_SETS, real_or_none, sha256

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FEATURES", "GROUPS", "Sushi", "load_sushi"]

#: The paper's five groups, in its order, and their codes among the twelve minor groups.
GROUPS = {"red-meat": 1, "clam": 4, "blue-skinned": 0, "vegetable": 11, "roe": 7}

#: The first 50 items: the one prefix of the list that has the paper's 7, 6, 8, 6 and 5 sushis.
_FIRST = 50

#: Attributes of items and their range; the first two are codes.
_ATTRIBUTES: dict[str, tuple[float, float]] = {
    "style": (0, 1),
    "major_group": (0, 1),
    "minor_group": (0, 11),
    "oiliness": (0, 4),
    "eaten": (0, 3),
    "price": (0, np.inf),
    "sold": (0, 1),
}
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
_LARGEST = {"age": 5, "seconds": 86400}


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
    for column, name in zip(
        attributes.T, (a for a in _ATTRIBUTES if a != "minor_group"), strict=True
    ):
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


def _rows(path: Path, separator: str, rows: int, columns: int) -> Iterator[tuple[str, list[str]]]:
    """Yield where a line is, for messages, and its fields; the numbers of both must be right."""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    for number, line in enumerate(lines, start=1):
        where = f"{path}, line {number}"
        fields = line.rstrip("\r").split(separator)
        if len(fields) != columns:
            raise ValueError(f"{where}: {len(fields)} columns, expected {columns}")
        yield where, fields
    if len(lines) != rows:
        raise ValueError(f"{path}: {len(lines)} lines, expected {rows}")


def _whole(text: str, low: float, high: float, where: str, what: str) -> int:
    """Read an integer of a range."""
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"{where}: {what} is {text!r}, expected an integer") from None
    if not low <= value <= high:
        raise ValueError(f"{where}: {what} is {value}, expected {low} to {high}")
    return value


def _real(text: str, low: float, high: float, where: str, what: str) -> float:
    """Read a finite number of a range."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{where}: {what} is {text!r}, expected a number") from None
    if not (low <= value <= high and np.isfinite(value)):
        raise ValueError(f"{where}: {what} is {text}, expected a number from {low} to {high}")
    return value


def read_items(path: Path, rows: int = 100) -> tuple[list[str], Array]:
    """Read names and attributes (items x 7, minor group third) of all items."""
    names, table = [], []
    for k, (where, fields) in enumerate(_rows(path, "\t", rows, 9)):
        _whole(fields[0], k, k, where, "the item id")
        if not fields[1] or fields[1] in names:
            raise ValueError(f"{where}: the name {fields[1]!r} is empty or taken")
        names.append(fields[1])
        values = []
        for text, (what, (low, high)) in zip(fields[2:], _ATTRIBUTES.items(), strict=True):
            read = _whole if what in _ITEM_LABELS or what == "minor_group" else _real
            values.append(read(text, low, high, where, what))
        table.append(values)
    return names, np.array(table, dtype=float)


def read_reviewers(path: Path, rows: int = 5000) -> Array:
    """Read the ten features (reviewers x 10, all codes or numbers) of all reviewers."""
    table = []
    for where, fields in _rows(path, "\t", rows, 11):
        _whole(fields[0], 0, np.inf, where, "the user id")
        values = []
        for text, (what, levels) in zip(fields[1:], FEATURES.items(), strict=True):
            largest = levels if isinstance(levels, int) else len(levels) - 1 if levels else 0
            values.append(_whole(text, 0, _LARGEST.get(what, largest), where, what))
        table.append(values)
    return np.array(table, dtype=float)


def read_scores(path: Path, rows: int = 5000, items: int = 100) -> Array:
    """Read the scores as ratings from 1 to 5, NaN for -1, not rated."""
    table = [
        [_whole(text, -1, 4, where, f"the score of item {k}") for k, text in enumerate(fields)]
        for where, fields in _rows(path, " ", rows, items)
    ]
    scores = np.array(table, dtype=float)
    return np.where(scores < 0, np.nan, scores + 1.0)


# ------------------------------------------------------------------------------------ loader


def load_sushi(*, source: str = "auto", min_rated: int = 8) -> Sushi:
    """Load the ratings of the paper's 32 sushis.

    Parameters
    ----------
    source : {"auto", "real", "simulated"}
        ``"real"`` finds or downloads the files, see `find`, and raises `DataUnavailableError` where
        they are not to be had; ``"auto"`` warns then and returns the stand-in; ``"simulated"`` is
        the stand-in, ``simulate_sushi()``.
    min_rated : int, default 8
        Keep the reviewers who rated at least as many of the 32, from 0 (all 5000, two of whom
        rated none) to 10. With 8, 182 reviewers are left and 74.6 % of the cells are empty, the
        nearest to the paper's 74 %.

    Returns
    -------
    Sushi

    Notes
    -----
    Cite T. Kamishima, "Nantonac Collaborative Filtering: Recommendation Based on Order Responses",
    KDD 2003. The data must not be passed on. The paper does not list its 32 sushis: those of its
    five groups among the first 50 of the list have the numbers it gives, 7, 6, 8, 6 and 5.

    Examples
    --------
    >>> data = load_sushi(source="simulated")
    >>> data.ratings.shape, round(data.sparsity, 3)
    ((182, 32), 0.746)
    """
    min_rated = check_min_rated(min_rated)
    folder = real_or_none("sushi", source)
    if folder is None:
        from kgl.datasets.standin import simulate_sushi  # here, because it imports Sushi

        return simulate_sushi(min_rated=min_rated)
    paths = [folder / file.name for file in DATA_SETS["sushi"].files]
    names, attributes = read_items(paths[0])
    features, ratings = read_reviewers(paths[1]), read_scores(paths[2])
    minor = attributes[:, 2]
    chosen, groups = [], []
    for group, code in GROUPS.items():
        members = np.flatnonzero(minor[:_FIRST] == code).tolist()
        chosen += members
        groups += [group] * len(members)
    hashes = ", ".join(f"{path.name} (sha256 {sha256(path)[:12]})" for path in paths)
    return assemble(
        [names[k] for k in chosen],
        groups,
        np.delete(attributes[chosen], 2, axis=1),
        features,
        ratings[:, chosen],
        min_rated=min_rated,
        simulated=False,
        origin=f"SUSHI Preference Data Sets of T. Kamishima, {hashes}",
    )
