"""What a sparse fit gives: attributes, scores of pairs, and the certificate."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kgl._optional import import_optional
from kgl._types import Array
from kgl.problem import PARTS
from kgl.solvers.lowrank import LargeFit, SparseLaplacian
from kgl.solvers.sparse import runners_up

if TYPE_CHECKING:
    from kgl.large.estimator import PreparedLarge

__all__ = [
    "certify_option",
    "drop_sparse_results",
    "give_results",
    "named_pairs",
    "runners_up_table",
    "warn_if_violated",
]


def certify_option(value: Any) -> str | bool:
    """Return ``certify`` if it is one of its values."""
    if value is False or (isinstance(value, str) and value in ("all", "sample")):
        return value
    raise ValueError(
        f"unknown certify {value!r}; choose one of 'all' (every pair is looked at), 'sample' (a "
        "sample of nodes) or False"
    )


def give_results(model: Any, ready: PreparedLarge, shown: PreparedLarge, fit: LargeFit) -> None:
    """Set the attributes of a fitted model."""
    graph, data = fit.graph, shown.data
    model._sparse = True
    model.__dict__.pop("edge_scores_", None)  # of an earlier, dense fit
    model.psi_ = float(fit.psi)
    model.node_names_ = ready.names
    weights = sparse.csr_array(graph.weights)
    weights.sort_indices()
    signs = weights.copy()
    signs.data = np.ones_like(signs.data)
    if graph.signs is not None:
        signs = sparse.csr_array(graph.signs)
        signs.sort_indices()
    model.weights_, model.signs_ = weights, signs
    model.laplacian_ = SparseLaplacian.of(weights, signs).matrix
    signals = data.Y
    if fit.signals is not None:
        assert fit.signals.nodes is not None
        signals = data.lift(data.root_z * fit.signals.nodes.T)
    model._fitted = signals
    model.__dict__.pop("signals_", None)
    if shown.n_rows is None:  # sums over rows have no signals of single rows
        model.signals_ = shown.preparation.undo(signals)
    model.history_ = fit.history
    model.objective_history_ = fit.history.sum(axis=1)
    model.objective_ = float(model.objective_history_[-1])
    model.objective_parts_ = dict(zip(PARTS, fit.history[-1].tolist(), strict=True))
    model.n_iter_, model.converged_ = fit.n_iter, fit.converged
    model.kkt_residual_ = float(graph.residual)
    model.pairs_examined_, model.pairs_violated_ = int(graph.examined), int(graph.violated)
    model.kernel_trace_error_ = 0.0 if ready.kernel_x is None else ready.kernel_x.trace_error_
    model._ready, model._logs = shown, ready.preparation.origin is not None
    model._graph, model._features, model._large_signals = graph, fit.features, fit.signals
    warn_if_violated(model)


def drop_sparse_results(model: Any) -> None:
    """Remove what an earlier, sparse fit has set and a dense one has not."""
    model._sparse = False
    for name in ("kernel_trace_error_", "_graph", "_features", "_large_signals"):
        model.__dict__.pop(name, None)


def named_pairs(model: Any, pairs: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of pairs of node names."""
    position = {name: k for k, name in enumerate(model.node_names_)}
    ends = []
    if not isinstance(pairs, Iterable):
        raise TypeError(
            f"pairs must be pairs of nodes, got {pairs!r}; pass pairs such as "
            f"[({model.node_names_[0]!r}, {model.node_names_[1]!r})]"
        )
    for pair in pairs:
        try:
            a, b = pair
            ends.append((position[a], position[b]))
        except (TypeError, ValueError, KeyError):  # of a name that cannot be a key too
            raise ValueError(
                f"{pair!r} is not a pair of nodes; pass pairs such as "
                f"({model.node_names_[0]!r}, {model.node_names_[1]!r})"
            ) from None
    rows, cols = np.array(ends, dtype=np.intp).reshape(-1, 2).T
    return rows, cols


def runners_up_table(model: Any, k: Any) -> Any:
    """Return the pairs nearest to becoming edges as a DataFrame."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"k = {k!r} must be a whole number of at least 1, such as 5")
    pandas = import_optional("pandas", "frame", "runners_up")
    if model._sparse:
        rows, cols, scores = runners_up(model._features, model._graph, int(k))
    else:
        rows, cols, scores = _dense_runners_up(model.edge_scores_, model.weights_, int(k))
    names = np.empty(len(model.node_names_), dtype=object)
    names[:] = model.node_names_
    return pandas.DataFrame(
        {"source": names[rows].tolist(), "target": names[cols].tolist(), "score": scores}
    )


def _dense_runners_up(scores: Array, W: Array, k: int) -> tuple[np.ndarray, np.ndarray, Array]:
    m = len(W)
    others = np.where(W > 0, -np.inf, scores)
    best = np.argsort(-others, axis=1, kind="stable")[:, : min(k, m - 1)]
    own = np.repeat(np.arange(m), best.shape[1])
    ends = np.sort(np.stack([own, best.ravel()]), axis=0)
    rows, cols = np.unique(ends, axis=1)
    found = others[rows, cols]
    order = np.argsort(-found, kind="stable")
    order = order[np.isfinite(found[order])]
    return rows[order], cols[order], found[order]


def warn_if_violated(model: Any) -> None:
    """Warn where a sample of pairs shows that edges are missing."""
    if not model.pairs_violated_:
        return
    warnings.warn(
        f"{model.pairs_violated_} of the {model.pairs_examined_} pairs examined should be edges "
        "and are not, since certify='sample' does not go back for them; use certify='all'",
        ConvergenceWarning,
        stacklevel=5,
    )
