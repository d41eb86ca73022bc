"""Random graphs of the synthetic experiments: families of links, weights and normalisation.

What the paper leaves open here (blocks and ratio of the SBM, attachment of the BA graph, whether
graphs must be connected) is a named parameter; `kgl.simulate` lists the choices made here.

"The sum of edge weights is equal to m" is read as the sum of all entries of ``W``, so that
``tr(L) = m`` as in the models' constraint; the authors' later public code does the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import networkx as nx
import numpy as np
from scipy.sparse.csgraph import connected_components

from kgl._types import Array, Mask
from kgl._validation import is_number

GraphFamily: TypeAlias = Callable[..., Mask]

__all__ = [
    "GRAPH_FAMILIES",
    "barabasi_albert",
    "erdos_renyi",
    "random_graph",
    "stochastic_block_model",
]

#: Draws after which ``connected=True`` gives up.
_MAX_DRAWS = 1000


def _links(graph: Any, m: int) -> Mask:
    """Boolean adjacency matrix of a networkx graph on the nodes 0 .. m - 1."""
    return np.asarray(nx.to_numpy_array(graph, nodelist=range(m)) > 0)


def erdos_renyi(m: int, rng: np.random.Generator, *, density: float) -> Mask:
    """Link every pair of nodes independently with probability ``density``."""
    return _links(nx.gnp_random_graph(m, density, seed=rng), m)


def barabasi_albert(
    m: int, rng: np.random.Generator, *, density: float, attachment: int | None = None
) -> Mask:
    """Attach each new node to ``attachment`` earlier ones, preferring those of high degree.

    Growth starts from a star of ``attachment + 1`` nodes, so the graph always has
    ``attachment * (m - attachment)`` edges: its density is not random, and only a few values can be
    reached. At ``m = 20`` attachment 3 gives 0.268 and 4 gives 0.337.

    Parameters
    ----------
    m : int
        Number of nodes.
    rng : numpy.random.Generator
        Source of randomness.
    density : float
        Target density. The attachment of the nearest density is taken, the smaller one of two
        equally near: 3 at ``m = 20`` and density 0.3. (The authors' later code also attaches to 3
        at ``m = 20``.)
    attachment : int, optional
        Links per new node, 1 to m - 1; overrides the density.
    """
    choices = np.arange(1, m)
    # integers, so that the equal densities of a and m - a tie exactly and the smaller a wins
    edges = choices * (m - choices)
    wanted = density * m * (m - 1) / 2
    if attachment is None:
        if wanted > edges.max():
            raise ValueError(
                f"density={density} is out of reach of a Barabasi-Albert graph on {m} nodes, whose "
                f"densest one has {2 * edges.max() / (m * (m - 1)):.3f}; lower the density, set "
                "attachment or take another family"
            )
        attachment = int(choices[np.abs(edges - wanted).argmin()])
    elif not is_number(attachment, whole=True) or not 1 <= attachment < m:
        raise ValueError(f"attachment={attachment!r}; pass an integer from 1 to m - 1 = {m - 1}")
    return _links(nx.barabasi_albert_graph(m, attachment, seed=rng), m)


def stochastic_block_model(
    m: int, rng: np.random.Generator, *, density: float, blocks: int = 2, ratio: float = 5.0
) -> Mask:
    """Link pairs inside a block more often than pairs across blocks.

    With ``p_in = ratio * p_out``, and ``I`` pairs inside and ``O`` pairs across blocks,
    ``p_out = density (I + O) / (ratio I + O)`` makes the expected density exact.

    Parameters
    ----------
    m : int
        Number of nodes, split into consecutive blocks whose sizes differ by one at most.
    rng : numpy.random.Generator
        Source of randomness.
    density : float
        Expected density.
    blocks : int, default 2
        Number of blocks.
    ratio : float, default 5
        ``p_in / p_out``; 1 is an Erdos-Renyi graph, ``inf`` leaves the blocks unconnected.

    Notes
    -----
    The paper gives neither number. Two blocks are the plainest choice. Ratio 5 (at ``m = 20``
    and density 0.3: ``p_in = 0.52``, ``p_out = 0.10``) has clear communities, yet about ten links
    across them, so that the graph hardly ever falls apart. Alternatives: 2 blocks with ratio 10
    (0.57, 0.06), 4 blocks with ratio 5 (0.81, 0.16), 4 blocks with ratio 3 (0.63, 0.21).
    """
    if not is_number(blocks, whole=True) or not 1 <= blocks <= m:
        raise ValueError(f"blocks={blocks!r}; pass a number of blocks from 1 to m = {m}")
    if not is_number(ratio) or not ratio >= 0:
        raise ValueError(f"ratio={ratio!r}; pass p_in / p_out as a number >= 0, or inf")
    sizes = [len(block) for block in np.array_split(np.arange(m), blocks)]
    pairs = m * (m - 1) // 2
    inside = sum(size * (size - 1) // 2 for size in sizes)
    # weights of the two probabilities; only their proportion counts, which makes inf a plain case
    into, across = (1.0, 0.0) if np.isinf(ratio) else (float(ratio), 1.0)
    spread = into * inside + across * (pairs - inside)
    scale = density * pairs / spread if spread > 0 else np.inf
    # 1e-12: the complete graph (density 1, ratio 1) must not fail by rounding
    if not (scale * max(into * (inside > 0), across * (inside < pairs)) <= 1 + 1e-12):
        raise ValueError(
            f"density={density} with blocks={blocks} and ratio={ratio} on {m} nodes needs a link "
            "probability above 1; lower the density or bring the ratio nearer to 1"
        )
    # networkx divides by log(1 - p), which is zero below 1e-16
    p_in, p_out = (p if p > 1e-15 else 0.0 for p in (scale * into, scale * across))
    p_in, p_out = min(1.0, p_in), min(1.0, p_out)
    probabilities = np.where(np.eye(blocks, dtype=bool), p_in, p_out).tolist()
    return _links(nx.stochastic_block_model(sizes, probabilities, seed=rng), m)


#: Families of `random_graph`. A new one is a function ``(m, rng, *, density, **options)`` that
#: returns a symmetric boolean ``m x m`` matrix, and an entry here.
GRAPH_FAMILIES: dict[str, GraphFamily] = {
    "er": erdos_renyi,
    "ba": barabasi_albert,
    "sbm": stochastic_block_model,
}


def _family(name: str, options: dict[str, Any]) -> GraphFamily:
    """Look up a family and check that it takes these options."""
    if not isinstance(name, str) or name not in GRAPH_FAMILIES:
        raise ValueError(f"unknown graph family {name!r}; choose from {sorted(GRAPH_FAMILIES)}")
    family = GRAPH_FAMILIES[name]
    parameters = inspect.signature(family).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return family
    known = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "density"]
    for option in options:
        if option not in known:
            raise ValueError(
                f"the graph family {name!r} takes no option {option!r}; "
                f"leave it out: its options are {known or 'none'}"
            )
    return family


def random_graph(
    family: str,
    m: int,
    rng: np.random.Generator,
    *,
    density: float = 0.3,
    weights: Literal["uniform", "unit"] = "uniform",
    connected: bool = False,
    **options: Any,
) -> Array:
    """Draw a weighted random graph, normalised to ``sum(W) = tr(L) = m``.

    Parameters
    ----------
    family : str
        A key of `GRAPH_FAMILIES`: ``"er"``, ``"ba"`` or ``"sbm"``.
    m : int
        Number of nodes, at least 2.
    rng : numpy.random.Generator
        Source of randomness. The links are drawn before the weights, so the two kinds of
        ``weights`` share the links.
    density : float, default 0.3
        Expected fraction of linked pairs, in (0, 1].
    weights : {"uniform", "unit"}, default "uniform"
        ``"uniform"`` follows the paper's text: a full matrix ``U_ij ~ U(0, 1)`` is drawn and
        ``(U + U') / 2`` taken on the links. Each weight is thus the mean of two uniform draws and
        has the triangular density on (0, 1) with its peak at 1/2, not a uniform one. ``"unit"``
        makes all weights equal.
    connected : bool, default False
        Draw again until the graph is connected, that is, draw from the family given that it is
        connected. The paper does not ask for it, and ``K_x = (I + alpha L)^-1`` does not need it.
    **options
        Options of the family: ``attachment`` (`barabasi_albert`); ``blocks`` and ``ratio``
        (`stochastic_block_model`).

    Returns
    -------
    ndarray of shape (m, m)
        Symmetric weights with zero diagonal.

    Raises
    ------
    ValueError
        Also if the draw has no edge: it cannot be normalised, and drawing again unasked would
        change the distribution.

    Examples
    --------
    >>> W = random_graph("sbm", 20, np.random.default_rng(0), blocks=4, ratio=3.0)
    >>> W.shape, bool((W == W.T).all()), round(float(W.sum()), 12)
    ((20, 20), True, 20.0)
    """
    draw = _family(family, options)
    if not is_number(m, whole=True) or m < 2:
        raise ValueError(f"m={m!r}; a graph needs at least 2 nodes, as a whole number")
    if not is_number(density) or not 0 < density <= 1:
        raise ValueError(f"density={density}; pass the expected fraction of linked pairs in (0, 1]")
    if not isinstance(weights, str) or weights not in ("uniform", "unit"):
        raise ValueError(f"unknown weights {weights!r}; choose 'uniform' or 'unit'")
    for _ in range(_MAX_DRAWS if connected else 1):
        links = draw(m, rng, density=density, **options)
        if not connected or connected_components(links, directed=False)[0] == 1:
            break
    else:
        raise ValueError(
            f"no connected graph in {_MAX_DRAWS} draws of {family!r} with m={m} and "
            f"density={density}; raise the density or m, or allow connected=False"
        )
    if not links.any():
        raise ValueError(
            f"the {family!r} graph drawn with m={m} and density={density} has no edge and cannot "
            "be normalised; raise the density or m, or pass connected=True"
        )
    W = links.astype(float)
    if weights == "uniform":
        U = rng.random((m, m))
        W *= (U + U.T) / 2
    W *= m / W.sum()
    return W
