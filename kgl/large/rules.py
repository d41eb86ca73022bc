"""Knowledge about edges of large graphs, as sparse patterns."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from kgl._edge_rules import is_matrix, named_ends, refuse_nan
from kgl._validation import as_numbers, refuse_masked
from kgl.solvers.sparse import PairRules

__all__ = ["densify", "n_allowed", "pair_rules", "pattern"]


def densify(matrix: Any) -> Any:
    """Return a sparse matrix as an array, other things as they are."""
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def pattern(given: Any, what: str) -> Any:
    """Return pairs that are given as a sparse matrix as a bool array; other things as they are."""
    return _stored(given, what).toarray() if sparse.issparse(given) else given


def _stored(given: Any, what: str) -> sparse.csr_array:
    """Return the entries that a sparse matrix stores, zeros too: distances of nodes may be zero."""
    found = sparse.csr_array(given)
    if found.dtype == bool:
        found = found.copy()
        found.eliminate_zeros()
        return found
    refuse_nan(found.data, what)
    return sparse.csr_array(
        (np.ones(found.nnz, dtype=bool), found.indices.copy(), found.indptr.copy()), found.shape
    )


def pair_rules(
    names: list[Any], allowed: Any, forbidden: Any, penalty: Any, *, every_node: bool
) -> PairRules | None:
    """Return what is known about edges, checked; None where nothing is.

    Parameters
    ----------
    names : list
        Names of the nodes.
    allowed, forbidden
        Sparse or bool matrices (m, m), pairs of node names, or networkx graphs.
    penalty
        Sparse matrix or array (m, m), not negative.
    every_node : bool
        Whether every node needs an allowed edge.
    """
    if allowed is None and forbidden is None and penalty is None:
        return None
    m = len(names)
    rules = PairRules(
        None if allowed is None else _pattern(allowed, names, "allowed_edges"),
        None if forbidden is None else _pattern(forbidden, names, "forbidden_edges"),
        None if penalty is None else _penalty(penalty, m),
    )
    open_pairs = _open_degrees(rules, m)
    if not open_pairs.any():
        raise ValueError("every edge is forbidden; allow at least one pair of nodes")
    if every_node and not open_pairs.all():
        name = names[int(np.argmin(open_pairs > 0))]
        raise ValueError(
            f"node {name!r} has no allowed edge, but the log-degree barrier gives every node "
            "one; allow an edge or use regularizer='frobenius'"
        )
    return rules


def n_allowed(rules: PairRules | None, m: int) -> int:
    """Return the number of pairs that may be edges."""
    if rules is None:
        return m * (m - 1) // 2
    return int(_open_degrees(rules, m).sum()) // 2


def _open_degrees(rules: PairRules, m: int) -> np.ndarray:
    """Return how many edges each node may have."""
    closed = sparse.csr_array((m, m), dtype=bool)
    if rules.forbidden is not None:
        closed = closed + rules.forbidden
    if rules.penalty is not None:
        infinite = rules.penalty.copy()
        infinite.data = np.isinf(infinite.data)
        infinite.eliminate_zeros()
        closed = closed + infinite.astype(bool)
    if rules.allowed is not None:
        both = rules.allowed.multiply(closed)
        return np.asarray(rules.allowed.sum(axis=1) - both.sum(axis=1)).ravel()
    return (m - 1) - np.asarray(closed.sum(axis=1)).ravel()


def _pattern(pairs: Any, names: list[Any], what: str) -> sparse.csr_array:
    """Turn a matrix, pairs of node names or a networkx graph into a symmetric pattern."""
    m = len(names)
    refuse_masked(pairs, what)
    if hasattr(pairs, "edges") and hasattr(pairs, "nodes"):  # a networkx graph
        pairs = list(pairs.edges)
    if hasattr(pairs, "to_numpy"):  # a DataFrame, of pairs or a matrix
        pairs = pairs.to_numpy()
    square = is_matrix(pairs) and (pairs.dtype == bool or pairs.shape == (m, m))
    if sparse.issparse(pairs) or square:
        if pairs.shape != (m, m):
            raise ValueError(f"{what} is a {pairs.shape} matrix but there are {m} nodes")
        if not sparse.issparse(pairs):
            refuse_nan(pairs, what)
            pairs = pairs.astype(bool)
        found = _stored(pairs, what)
        if (found != found.T).nnz:
            raise ValueError(f"{what} is not symmetric; edges have no direction, use M + M.T")
    else:
        found = _named(pairs, names, what)
    found.setdiag(False)
    found.eliminate_zeros()
    return found


def _named(pairs: Any, names: list[Any], what: str) -> sparse.csr_array:
    m = len(names)
    rows, cols = named_ends(pairs, names, what).T
    both = np.concatenate([rows, cols]), np.concatenate([cols, rows])
    return sparse.csr_array((np.ones(len(both[0]), dtype=bool), both), shape=(m, m)).astype(bool)


def _penalty(penalty: Any, m: int) -> sparse.csr_array:
    refuse_masked(penalty, "edge_penalty")
    if not sparse.issparse(penalty):
        penalty = as_numbers(penalty, "edge_penalty")
    if penalty.shape != (m, m):
        raise ValueError(f"edge_penalty is {penalty.shape} but there are {m} nodes")
    found = sparse.csr_array(penalty).astype(float)
    bad = np.flatnonzero(~(found.data >= 0))
    if len(bad):
        raise ValueError(
            f"edge_penalty holds {found.data[bad[0]]:g}; penalties are non-negative numbers (inf "
            "forbids an edge)"
        )
    if (found != found.T).nnz:
        raise ValueError("edge_penalty is not symmetric; use (P + P.T) / 2")
    found.setdiag(0.0)
    found.eliminate_zeros()
    return found
