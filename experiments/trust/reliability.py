"""Whether stated probabilities and intervals hold: tables of one replicate.

Sums and counts are kept by replicate, so that errors can be computed over graphs. Pairs of one
graph are not independent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kgl._types import Array, Mask
from kgl.laplacian import edges_from_adjacency

__all__ = ["BINS", "LIKELY", "SURE", "Z90", "coverage", "edge_rows", "fit_row", "histogram"]

#: Bins of equal width of stated probabilities.
BINS = 10
#: Pairs with at least this probability are likely edges, or nearly sure ones.
LIKELY, SURE = 0.5, 0.9
#: Half the width of a 90 % interval of a Gaussian, in standard deviations.
Z90 = 1.645


def histogram(stated: Array, true: Mask) -> list[dict[str, Any]]:
    """Return for each bin of stated probabilities the number of pairs, and sums over them.

    Parameters
    ----------
    stated : array (E,)
        Probabilities of edges.
    true : bool array (E,)
        Which pairs are edges.

    Examples
    --------
    >>> rows = histogram(np.array([0.05, 0.95, 1.0]), np.array([False, True, True]))
    >>> [(row["bin"], row["pairs"], row["stated"], row["true"]) for row in rows]
    [(0, 1, 0.05, 0), (9, 2, 1.95, 2)]
    """
    which = np.minimum((BINS * stated).astype(int), BINS - 1)
    return [
        {
            "bin": int(k),
            "pairs": int((which == k).sum()),
            "stated": float(stated[which == k].sum()),
            "true": int(true[which == k].sum()),
        }
        for k in np.unique(which)
    ]


def edge_rows(stated: Array, true: Mask, believed: float) -> list[dict[str, Any]]:
    """Return how reliable the edge probabilities of one graph are: bins, and a row for all pairs.

    Parameters
    ----------
    stated, true
        As for :func:`histogram`.
    believed : float
        A density that is stated for every pair, as a reference forecast.

    Returns
    -------
    list of dict
        Rows of the table ``bins``, and one of the table ``edges``: ``likely`` pairs, with the sums
        of what is stated and true of them; ``ece``, the expected calibration error; the Brier score
        and what constant forecasts have of it, the share of true edges (``brier_share``, which
        takes the true graph) and the believed density (``brier_believed``); ``largest``, the
        largest probability; ``mean``; ``share`` of true edges.
    """
    bins = histogram(stated, true)
    likely = stated >= LIKELY
    share = float(true.mean())
    summary = {
        "pairs": len(stated),
        "likely": int(likely.sum()),
        "likely_stated": float(stated[likely].sum()),
        "likely_true": int(true[likely].sum()),
        "ece": sum(abs(row["stated"] - row["true"]) for row in bins) / len(stated),
        "brier": float(np.mean((stated - true) ** 2)),
        "brier_share": share * (1.0 - share),
        "brier_believed": float(np.mean((believed - true) ** 2)),
        "largest": float(stated.max()),
        "mean": float(stated.mean()),
        "share": share,
    }
    return [{"table": "bins", **row} for row in bins] + [{"table": "edges", **summary}]


def fit_row(model: Any) -> dict[str, Any]:
    """Return what the generative model found, and whether its chains agree: table ``fit``."""
    p = edges_from_adjacency(model.edge_probability_)
    return {
        "table": "fit",
        "converged": bool(model.converged_),
        "r_hat": float(model.convergence_["r_hat"]["edge_probability"]),
        "ess": float(model.convergence_["ess"]["edge_probability"]),
        "pairs": len(p),
        "likely": int((p > LIKELY).sum()),
        "sure": int((p > SURE).sum()),
    }


def coverage(filled: Array, std: Array, values: Array, hidden: Mask) -> dict[str, Any]:
    """Return how many of the hidden values lie in 90 % intervals, and how wide these are.

    Returns
    -------
    dict
        ``entries`` and ``covered``; ``width``, the mean width of the intervals over that of the
        interval that has nothing but the variance of the hidden values.
    """
    errors, half = np.abs(filled - values)[hidden], Z90 * std[hidden]
    if not (np.isfinite(errors).all() and np.isfinite(half).all()):
        raise ValueError("imputed values or standard deviations are not finite")
    plain = Z90 * float(values[hidden].std())
    return {
        "entries": int(hidden.sum()),
        "covered": int((errors <= half).sum()),
        "width": float(half.mean()) / plain,
    }
