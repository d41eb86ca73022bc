"""A picture of a graph with many nodes: all of them, in clusters. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from kgl._optional import import_optional
from kgl._types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["clusters_of", "place_by_clusters", "plot_clusters"]

#: Edges that are drawn, the heaviest, and clusters whose hub is named.
MOST_EDGES, NAMED = 30_000, 20
#: Colours of clusters (Okabe and Ito); place tells apart those that share one.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999")
#: Space of a cluster beside that of its nodes.
ROOM = 1.6


def plot_clusters(
    W: Any, *, names: Sequence[Any], signs: Any, positions: Array | None, values: Array | None,
    values_label: str | None, ax: Axes | None, labels: bool | None, title: str | None, seed: int,
) -> Axes:  # fmt: skip
    """Draw all nodes of a large graph, cluster by cluster, with the heaviest edges as thin lines.

    Colours are clusters unless there are ``values``; the node of the largest degree is named in
    each of the larger clusters.
    """
    plt = import_optional("matplotlib.pyplot", "plot", "plotting")
    from matplotlib.collections import LineCollection

    W = sparse.csr_array(W)
    m = W.shape[0]
    upper = sparse.triu(W, 1, format="coo")
    member = clusters_of(W, seed)
    sizes = np.bincount(member)
    placed = place_by_clusters(W, member, seed) if positions is None else positions
    if ax is None:
        _, ax = plt.subplots(figsize=(6, 5.6), layout="constrained")
    heaviest = np.argsort(-upper.data, kind="stable")[:MOST_EDGES][::-1]
    rows, cols = (ends[heaviest] for ends in upper.coords)
    opposite = np.zeros(len(rows), dtype=bool)
    if signs is not None and len(rows):
        opposite = np.asarray(signs[rows, cols]).ravel() < 0
    segments = np.stack([placed[rows], placed[cols]], axis=1)
    # the more lines, the fainter each of them
    alpha = float(np.clip(900.0 / max(len(rows), 1), 0.06, 0.5))
    for which, color in ((~opposite, "0.25"), (opposite, "#D55E00")):
        if which.any():
            ax.add_collection(
                LineCollection(
                    list(segments[which]), colors=color, linewidths=0.5, alpha=alpha, zorder=1,
                    rasterized=True,
                )
            )  # fmt: skip
    alone = np.diff(W.indptr) == 0
    colors = np.array(COLORS)[member % len(COLORS)]
    look: dict[str, Any] = {"c": np.where(alone, "#BBBBBB", colors).tolist()}
    if values is not None:
        look = {"c": np.asarray(values), "cmap": "cividis"}
    size = float(np.clip(12_000.0 / m, 1.5, 20.0))
    across, up = placed.T
    dots = ax.scatter(across, up, s=size, linewidths=0, zorder=2, rasterized=True, **look)
    if values is not None and values_label is not None:
        ax.figure.colorbar(dots, ax=ax, label=values_label, shrink=0.8)
    if labels is not False:
        _name_hubs(ax, W, member, sizes, placed, names)
    ax.set_aspect("equal")
    ax.margins(0.05)
    ax.set_axis_off()
    drawn = "" if len(rows) == upper.nnz else f", the {len(rows):,} heaviest drawn"
    apart = f"; {alone.sum():,} nodes without an edge" if alone.any() else ""
    note = f"{m:,} nodes in {np.count_nonzero(sizes > 1)} clusters, {upper.nnz:,} edges{drawn}"
    ax.set_title((f"{title}\n" if title else "") + note + apart, fontsize=9)
    return ax


def clusters_of(W: Any, seed: int = 0) -> np.ndarray:
    """Return the cluster of each node (Louvain's method), the largest first.

    >>> W = sparse.block_diag([np.ones((3, 3)), np.ones((2, 2))], format="csr")
    >>> clusters_of(W).tolist()
    [0, 0, 0, 1, 1]
    """
    import networkx as nx

    graph = nx.from_scipy_sparse_array(sparse.csr_array(W))
    found = nx.community.louvain_communities(graph, weight="weight", seed=seed)
    member = np.zeros(W.shape[0], dtype=int)
    for k, nodes in enumerate(sorted(found, key=lambda nodes: (-len(nodes), min(nodes)))):
        member[list(nodes)] = k
    return member


def place_by_clusters(W: Any, member: np.ndarray, seed: int = 0) -> Array:
    """Place nodes in two steps: clusters by the weights between them, nodes inside their cluster.

    Each cluster has an area in proportion to its number of nodes; nodes without an edge are on a
    ring around the others.
    """
    W = sparse.csr_array(W)
    m, n = W.shape[0], int(member.max()) + 1
    alone = np.diff(W.indptr) == 0
    belongs = sparse.csr_array((np.ones(m), (member, np.arange(m))), shape=(n, m))
    between = (belongs @ W @ belongs.T).toarray()
    np.fill_diagonal(between, 0.0)
    linked = np.unique(member[~alone])
    placed = np.zeros((m, 2))
    if len(linked):
        sizes = np.bincount(member, minlength=n)[linked].astype(float)
        radii = np.sqrt(sizes / sizes.sum())
        centres = _apart(_springs(between[np.ix_(linked, linked)], seed), ROOM * radii)
        for k, centre, radius in zip(linked, centres, radii, strict=True):
            nodes = np.flatnonzero(member == k)
            inside = _springs(W[nodes][:, nodes].toarray(), seed)
            reach = max(float(np.abs(inside).max()), 1e-12)
            placed[nodes] = centre + radius * inside / reach
    ring = np.linspace(0.0, 2.0 * np.pi, int(alone.sum()), endpoint=False)
    outside = 1.05 * float(np.linalg.norm(placed, axis=1).max()) + 0.05
    placed[alone] = outside * np.column_stack([np.cos(ring), np.sin(ring)])
    return placed


def _springs(weights: Array, seed: int) -> Array:
    """Return positions around the origin by networkx's springs."""
    import networkx as nx

    graph = nx.from_numpy_array(weights / max(float(weights.max()), 1e-300))
    layout = nx.spring_layout(graph, weight="weight", seed=seed, iterations=60, method="force")
    placed = np.array([layout[k] for k in range(len(weights))])
    return np.asarray(placed - placed.mean(axis=0))


def _apart(centres: Array, radii: Array) -> Array:
    """Push discs apart until none overlaps another, then draw them together by a common factor."""
    centres = centres * float(radii.sum()) / max(float(np.abs(centres).max()), 1e-12) / 3.0
    for _ in range(200):
        gap = centres[:, None] - centres
        distance = np.linalg.norm(gap, axis=2) + np.eye(len(radii))
        overlap = radii[:, None] + radii - distance
        np.fill_diagonal(overlap, 0.0)
        if overlap.max() <= 1e-3 * radii.max():
            break
        push = np.maximum(overlap, 0.0)[:, :, None] * gap / distance[:, :, None]
        centres = centres + 0.5 * push.sum(axis=1) - 0.02 * centres
    return np.asarray(centres)


def _name_hubs(
    ax: Axes, W: Any, member: np.ndarray, sizes: np.ndarray, placed: Array, names: Sequence[Any]
) -> None:
    """Write the name of the node with the largest degree in each of the larger clusters."""
    degrees = np.asarray(W.sum(axis=1)).ravel()
    for k in np.flatnonzero(sizes > 2)[:NAMED]:
        nodes = np.flatnonzero(member == k)
        hub = nodes[np.argmax(degrees[nodes])]
        ax.annotate(
            str(names[hub]).replace("$", r"\$"), placed[hub], ha="center", va="center", fontsize=7,
            zorder=3, bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "0.6", "lw": 0.4,
                            "alpha": 0.85},
        )  # fmt: skip
