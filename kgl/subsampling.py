r"""Which edges come back when half of the data is left out: complementary-pairs subsampling.

Rows are split into two halves at random, many times, and the graph is learned from each half. The
share of halves that have an edge is its *reproducibility*. It is no probability that the edge is in
the true graph: edges that side information or a common cause suggests come back too. What it does
bound is the number of edges that come back by chance (Shah and Samworth, 2013).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from kgl._optional import import_optional
from kgl._progress import reporter
from kgl._types import Array
from kgl._validation import as_floats, check_flag, check_hyperparameter, check_seed
from kgl.base import GraphLearner
from kgl.bayesian import BayesianKGL
from kgl.solvers.density import read_off_many, warn_if_missed
from kgl.solvers.graph_step import warn_if_inexact

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Reproducibility", "chance_bound", "stability"]

#: Pairs of halves whose graph steps are one batch, where a model has no other steps.
BATCH = 25


@dataclass(frozen=True)
class Reproducibility:
    """How often edges came back.

    Attributes
    ----------
    frequency : array (m, m)
        Share of the halves of the data whose graph has the edge.
    sign : array (m, m)
        Mean sign of the pair over the halves, between -1 and 1.
    n_pairs : int
        Pairs of complementary halves.
    n_selected : float
        Edges of a half's graph, on average.
    node_names : list
        Names of the nodes.
    """

    frequency: Array
    sign: Array
    n_pairs: int
    n_selected: float
    node_names: list[Any]

    def edges(self, threshold: float = 0.9) -> pd.DataFrame:
        """Return the pairs that came back in ``threshold`` of the halves or more, often first."""
        pandas = import_optional("pandas", "frame", "edges")
        rows, cols = np.triu_indices(len(self.frequency), 1)
        shares = self.frequency[rows, cols]
        frame: pd.DataFrame = pandas.DataFrame(
            {
                "source": [self.node_names[i] for i in rows],
                "target": [self.node_names[j] for j in cols],
                "reproducibility": shares,
                "sign": self.sign[rows, cols],
            }
        )
        frame = frame[frame["reproducibility"] >= threshold]
        return frame.sort_values(
            "reproducibility", ascending=False, kind="stable", ignore_index=True
        )

    def expected_by_chance(self, threshold: float = 0.9) -> float:
        """Return a bound on the expected number of edges at the threshold that are chance.

        Chance means: pairs that a half selects no more often than a pair taken at random. The bound
        is that of Shah and Samworth for unimodal distributions of the shares.
        """
        m = len(self.frequency)
        return chance_bound(self.n_selected, m * (m - 1) / 2, threshold, self.n_pairs)


def chance_bound(selected: float, pairs: float, threshold: float, n_pairs: int) -> float:
    r"""Return Shah and Samworth's bound :math:`C(\tau, B)\, q^2 / p`, infinite where none is known.

    Parameters
    ----------
    selected, pairs : float
        Edges q of a half's graph, on average, and pairs p to choose from.
    threshold : float
        Share of the halves in which an edge must come back: the next multiple of 1 / 2B, as shares
        are multiples of it. None is known below 1/2 + 1/B.
    n_pairs : int
        Pairs of halves B.

    Examples
    --------
    >>> round(chance_bound(20, 190, 0.9, 50), 2)  # 20 of 190 pairs, nine of ten halves
    0.91
    >>> chance_bound(100, 190, 0.55, 50)
    inf
    """
    share, B = selected / pairs, n_pairs
    # a share that is a multiple but for rounding is that multiple
    halves = float(np.ceil(2 * B * threshold - 1e-9))
    threshold = halves / (2 * B)
    lowest = min(0.5 + share**2, 0.5 + 1 / (2 * B) + 0.75 * share**2)
    out_of_range = threshold <= lowest or threshold > 1 or halves < B + 2
    if share > 1 / np.sqrt(3) or out_of_range:
        return float("inf")
    if threshold <= 0.75:
        constant = 1.0 / (2.0 * (2.0 * threshold - 1.0 - 1.0 / (2 * B)))
    else:
        constant = 4.0 * (1.0 - threshold + 1.0 / (2 * B)) / (1.0 + 1.0 / B)
    return float(constant * share * selected)


def stability(
    estimator: GraphLearner,
    Y: Any,
    *,
    x: Any = None,
    z: Any = None,
    K_x: Any = None,
    K_z: Any = None,
    n_pairs: int = 25,
    random_state: int | np.random.Generator = 0,
    progress: Callable[[int, int], None] | bool | None = None,
) -> Reproducibility:
    """Learn the graph from halves of the data, and count which edges come back.

    Parameters
    ----------
    estimator : GraphLearner
        What learns the graphs, with a density or average degree (halves of the data then have
        graphs of the same number of edges) or a psi.
    Y, x, z, K_x, K_z
        As for :meth:`GraphLearner.fit`.
    n_pairs : int
        Pairs of halves; each takes two fits. Those of GL are solved together.
    random_state : int or Generator
        Source of the halves.
    progress : callable or bool, optional
        As for :func:`kgl.select_held_out`, after each pair.

    Returns
    -------
    Reproducibility

    Examples
    --------
    >>> import kgl
    >>> data = kgl.simulate.make_dataset("er", m=10, n=200, noise=0.1)
    >>> found = kgl.stability(kgl.GL(density=0.2), data.Y, n_pairs=10)
    >>> found.frequency.shape, float(found.frequency.max())
    ((10, 10), 0.7)
    """
    if not isinstance(n_pairs, int) or n_pairs < 1:
        raise ValueError(f"n_pairs = {n_pairs!r} must be a whole number of at least 1, such as 25")
    _check_estimator(estimator)
    signed = check_flag("signed", estimator.signed)
    names = clone(estimator)._prepare(Y, x=x, z=z, K_x=K_x, K_z=K_z).names  # refuse bad input now
    n, m = np.shape(Y)
    if n < 4:
        raise ValueError(
            f"Y has {n} row(s), and halves of it too few to learn from; give 4 or more"
        )
    if isinstance(z, str):
        raise ValueError(f"z = {z!r}: halves need the times themselves; pass z=Y.index")
    rng = check_seed("random_state", random_state)
    seen = ~np.isnan(as_floats(Y))
    report = reporter(progress, "pair of halves")
    learn = _read_off if not estimator._spec.fitted else _fit_each
    count, signs, total = np.zeros((m, m)), np.zeros((m, m)), 0.0
    for first in range(0, n_pairs, BATCH):
        halves = []
        for rows in _halves(n, min(BATCH, n_pairs - first), rng):
            _check_half(seen, rows, names)
            side = {"x": x, "K_x": K_x, "z": _take(z, rows)}
            side["K_z"] = None if K_z is None else np.asarray(K_z)[np.ix_(rows, rows)]
            halves.append((_take(Y, rows), side))
        for k, (weights, sign) in enumerate(learn(estimator, halves)):
            count += weights > 0
            total += np.count_nonzero(weights) / 2
            signs += sign if signed else 1.0
            if report is not None and k % 2:
                report(first + k // 2 + 1, n_pairs)
    share, edges = count / (2 * n_pairs), total / (2 * n_pairs)
    return Reproducibility(share, signs / (2 * n_pairs), n_pairs, edges, names)


def _check_estimator(estimator: Any) -> None:
    if isinstance(estimator, BayesianKGL):
        raise TypeError(
            "BayesianKGL has probabilities of edges: use its edge_probability_ or "
            "to_edges(min_probability=...); stability is for GL, GL2Step, KGLN, KGLO, KGL and "
            "KGLAgnostic"
        )
    if not isinstance(estimator, GraphLearner):
        raise TypeError(
            f"estimator = {estimator!r} is no graph learner of kgl; give one, such as "
            "kgl.KGL(density=0.2), and not its class"
        )


def _halves(n: int, n_pairs: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield rows of complementary halves, in order."""
    for _ in range(n_pairs):
        order = rng.permutation(n)
        yield np.sort(order[: n // 2])
        yield np.sort(order[n // 2 : 2 * (n // 2)])


def _check_half(seen: np.ndarray, rows: np.ndarray, names: list[Any]) -> None:
    """Refuse a half in which a node was never observed."""
    for name, own, count in zip(names, seen[rows].any(axis=0), seen.sum(axis=0), strict=True):
        if not own:
            raise ValueError(
                f"column {name!r} has no observed entry in a half of the rows, and {count} in all: "
                "drop that column, or give more rows"
            )


def _fit_each(estimator: GraphLearner, halves: list[Any]) -> Iterator[tuple[Array, Array]]:
    """Yield weights and signs of fits to halves of the data."""
    for Y, side in halves:
        model = clone(estimator).fit(Y, **side)
        yield model.weights_, model.signs_


def _read_off(estimator: GraphLearner, halves: list[Any]) -> Iterator[tuple[Array, Array]]:
    """Yield the same for a model that fits no signals: all graph steps are one batch."""
    ready = [clone(estimator)._prepare(Y, **side) for Y, side in halves]
    options, m = ready[0].options, len(ready[0].names)
    psi = None
    if estimator.psi is None:
        target = np.full(len(ready), estimator._target_edges(m))
        options = replace(options, target_edges=target)
    else:
        psi = np.full(len(ready), check_hyperparameter("psi", estimator.psi))
    signed = ready[0].spec.signed
    weights, signs, gap, residual = read_off_many(
        [one.data for one in ready], options, psi, signed=signed
    )
    warn_if_inexact(float(residual.max()), stacklevel=4, solver=estimator.solver)
    if gap is not None:
        warn_if_missed(gap, target, options, m, stacklevel=4)
    yield from zip(weights, np.ones_like(weights) if signs is None else signs, strict=True)


def _take(table: Any, rows: np.ndarray) -> Any:
    """Return rows of an array or a frame."""
    if table is None:
        return None
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    return table[rows] if hasattr(table, "shape") else np.asarray(table)[rows]
