"""Simulated stand-ins for the real data sets: the same form, made-up content."""

from __future__ import annotations

import numpy as np

from kgl._types import Array
from kgl.datasets import sushi, swiss
from kgl.datasets.stations import _ENDINGS, _SYLLABLES, _scatter
from kgl.datasets.sushi import FEATURES, GROUPS, Sushi, check_min_rated
from kgl.datasets.swiss import Swiss
from kgl.kernels import RBF
from kgl.seeding import stream
from kgl.simulate import smooth_signals

__all__ = ["simulate_sushi", "simulate_swiss"]


def _origin(what: str, seed: int) -> str:
    return f"SIMULATED STAND-IN for {what}: made up, of the same form (seed {seed})"


# ------------------------------------------------------------------------------------ swiss


def simulate_swiss(seed: int = 0) -> Swiss:
    """Simulate monthly temperatures at 89 made-up stations, in the form of `load_swiss`.

    Parameters
    ----------
    seed : int
        Root of the random streams.

    Returns
    -------
    Swiss
        Warm in summer, colder with altitude (in winter less so, as air lies cold in valleys),
        plus a field that is smooth over space and months, plus noise; to one decimal.

    Examples
    --------
    >>> data = simulate_swiss()
    >>> data.temperature.shape, data.simulated
    ((12, 89), True)
    """
    m = 89
    rng = stream(seed, "swiss stand-in", "places")
    # spread over 100 x 60 units, stretched to longitudes 6 to 10.4 and latitudes 45.8 to 47.8
    east, north = (_scatter(m, rng) / (100.0, 60.0)).T
    places = np.column_stack([45.8 + 2.0 * north, 6.0 + 4.4 * east]).round(6)
    # mountains in the south; many stations low down, few on peaks, a median of about 780 m
    order = np.argsort(np.argsort(rng.normal(0.0, 0.35, m) - north)) / (m - 1)
    altitude = (203.0 + 3377.0 * (0.12 * order + 0.88 * order**3)).round()
    season = -np.cos(2 * np.pi * (np.arange(12) - 0.2) / 12)
    lapse = 5.2 + 1.1 * season  # degrees per kilometre
    mean = (11.8 + 9.9 * season) - np.outer(altitude / 1000.0, lapse)
    kilometres = places * (111.2, 76.1)
    _, field = smooth_signals(
        0.5 * RBF(gamma=1.0 / (2 * 50.0**2))(kilometres),
        RBF(gamma=1.0 / 18.0)(np.arange(12.0)),
        stream(seed, "swiss stand-in", "field"),
        noise=0.15**2,
        noise_rng=stream(seed, "swiss stand-in", "noise"),
    )
    names = [(a + b).capitalize() for b in _ENDINGS for a in _SYLLABLES]
    chosen = stream(seed, "swiss stand-in", "names").choice(names, m, replace=False)
    return swiss.assemble(
        (mean + field.T).round(1) + 0.0,  # no -0.0
        altitude,
        places,
        sorted(chosen.tolist()),
        simulated=True,
        origin=_origin("the MeteoSwiss normals 1981-2010", seed),
    )


# ------------------------------------------------------------------------------------ sushi

_SIZES = dict(zip(GROUPS, (7, 6, 8, 6, 5), strict=True))

#: How many of the 5000 reviewers rated 0, 1, ..., 10 of the 32 items, as in the real data.
_RATED = (2, 24, 185, 557, 1120, 1360, 1055, 515, 162, 16, 4)

#: Rough means of a group's oiliness, eaten, price and sold; a group spreads as widely as they do.
_MEANS = {
    "red-meat": (1.3, 2.0, 2.4, 0.6),
    "clam": (2.5, 1.2, 2.6, 0.5),
    "blue-skinned": (2.1, 1.4, 1.8, 0.4),
    "vegetable": (2.8, 1.4, 1.1, 0.3),
    "roe": (2.0, 1.2, 2.0, 0.4),
}
_SPREAD = (0.45, 0.35, 0.6, 0.15)
_LIMITS = ((0.0, 0.0, 1.0, 0.05), (4.0, 3.0, 5.0, 0.95))

#: Region of each of the 47 prefectures, in their official order.
_REGION = np.repeat(
    (0, 1, 2, 3, 4, 3, 4, 5, 2, 6, 5, 6, 7, 8, 9, 10),
    (1, 6, 1, 7, 1, 1, 1, 2, 3, 1, 1, 5, 5, 4, 7, 1),
)


def _items(rng: np.random.Generator) -> tuple[list[str], list[str], Array]:
    """Names, groups and six attributes of made-up items."""
    names, groups, rows = [], [], []
    for group, size in _SIZES.items():
        values = np.clip(rng.normal(_MEANS[group], _SPREAD, (size, 4)), *_LIMITS).round(3)
        for k in range(size):
            # rolls: most of the vegetables and one with red meat
            maki = (group == "vegetable" and k < 4) or (group == "red-meat" and k == 4)
            names.append(f"{group} {k + 1}")
            groups.append(group)
            rows.append([float(not maki), float(group == "vegetable"), *values[k]])
    return names, groups, np.array(rows)


def _people(n: int, rng: np.random.Generator) -> Array:
    """Features of made-up reviewers, in the order of `FEATURES`."""
    # a few prefectures have most of the people
    share = rng.dirichlet(np.full(len(_REGION), 0.7))
    young = rng.choice(len(_REGION), n, p=share)
    now = np.where(rng.random(n) < 0.4, rng.choice(len(_REGION), n, p=share), young)
    columns = {
        "gender": rng.random(n) < 0.525,
        "age": rng.choice(6, n, p=(0.06, 0.28, 0.39, 0.19, 0.06, 0.02)),
        "seconds": np.clip(rng.lognormal(5.6, 0.3, n).round(), 165, 877),
        "prefecture_young": young,
        "region_young": _REGION[young],
        "eastwest_young": _REGION[young] > 5,
        "prefecture_now": now,
        "region_now": _REGION[now],
        "eastwest_now": _REGION[now] > 5,
        "moved": young != now,
    }
    return np.column_stack([columns[name] for name in FEATURES]).astype(float)


def simulate_sushi(seed: int = 0, min_rated: int = 8) -> Sushi:
    """Simulate ratings of 32 made-up items by 5000 people, in the form of `load_sushi`.

    Parameters
    ----------
    seed : int
        Root of the random streams.
    min_rated : int, default 8
        Keep the reviewers who rated at least as many of the 32. How many there are for each
        number is as in the real data.

    Returns
    -------
    Sushi
        A rating is a mean plus the item's popularity, the person's leniency and taste for the
        group, a taste for attributes that depends on region, age and gender, and noise; rounded
        to 1 to 5.

    Examples
    --------
    >>> data = simulate_sushi()
    >>> data.groups.value_counts(sort=False).tolist(), len(data.ratings)
    ([7, 6, 8, 6, 5], 182)
    """
    min_rated = check_min_rated(min_rated)
    names, groups, attributes = _items(stream(seed, "sushi stand-in", "items"))
    n, m = sum(_RATED), len(names)
    people = _people(n, stream(seed, "sushi stand-in", "people"))

    rng = stream(seed, "sushi stand-in", "tastes")
    standard = (attributes - attributes.mean(axis=0)) / attributes.std(axis=0)
    traits = np.column_stack(
        [
            people[:, 0] - 0.5,  # gender
            (people[:, 1] - 2.0) / 2.0,  # age
            rng.normal(0.0, 0.7, 12)[people[:, 7].astype(int)],  # region now
            rng.normal(0.0, 0.5, n),  # and what nobody asked
        ]
    )
    taste = traits @ rng.normal(0.0, 0.35, (traits.shape[1], attributes.shape[1]))
    liked = rng.normal(0.0, 0.6, (n, len(GROUPS)))
    member = np.repeat(np.arange(len(GROUPS)), list(_SIZES.values()))
    latent = 3.6 + rng.normal(0.0, 0.4, m) + liked[:, member] + taste @ standard.T
    latent += rng.normal(0.0, 0.4, (n, 1)) + rng.normal(0.0, 0.6, (n, m))  # leniency, noise

    rng = stream(seed, "sushi stand-in", "rated")
    counts = rng.permutation(np.repeat(np.arange(len(_RATED)), _RATED))
    # the items of largest weight times Gumbel noise: a draw without replacement, favouring what
    # many shops sell
    keys = 1.5 * attributes[:, 5] + rng.gumbel(size=(n, m))
    rank = np.argsort(np.argsort(-keys, axis=1), axis=1)
    ratings = np.where(rank < counts[:, None], np.clip(np.rint(latent), 1.0, 5.0), np.nan)
    return sushi.assemble(
        names,
        groups,
        attributes,
        people,
        ratings,
        min_rated=min_rated,
        simulated=True,
        origin=_origin("the SUSHI preference data", seed),
    )
