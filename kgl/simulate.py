"""Synthetic data of the paper: random graphs, smooth signals, noise and missing entries.

The paper (Synthetic Experiments, General Settings) leaves several choices open. Each is a named
parameter here, with the reading we take as its default:

=======================  ========================  ==============================================
choice                   default                   alternatives
=======================  ========================  ==============================================
``alpha`` of ``K_x``     100                       any other; 1000 is the next best reading
SBM                      2 blocks, ratio 5         ``blocks``, ``ratio``
BA attachment            nearest to the density    ``attachment``
median heuristic         ``"median_distance"``     ``"median_sq"``, ``"median_sq_half"``, a number
connected graphs         not required              ``connected=True``
=======================  ========================  ==============================================

"The sum of edge weights is equal to m" is read as the sum of all entries of ``W``, so that
``tr(L) = m`` as in the models' constraint; the authors' later public code does the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from kgl.kernels import RBF, LaplacianKernel, kernel_eigen
from kgl.laplacian import Array, laplacian_from_adjacency
from kgl.seeding import stream

BoolArray: TypeAlias = NDArray[np.bool_]
GraphFamily: TypeAlias = Callable[..., BoolArray]

__all__ = [
    "GRAPH_FAMILIES",
    "SyntheticData",
    "barabasi_albert",
    "erdos_renyi",
    "make_dataset",
    "missing_mask",
    "random_graph",
    "resolvent_kernel",
    "smooth_signals",
    "stochastic_block_model",
    "time_kernel",
]

#: Draws after which ``connected=True`` gives up.
_MAX_DRAWS = 1000


# ------------------------------------------------------------------------------------- graphs


def _links(graph: Any, m: int) -> BoolArray:
    """Boolean adjacency matrix of a networkx graph on the nodes 0 .. m - 1."""
    return np.asarray(nx.to_numpy_array(graph, nodelist=range(m)) > 0)


def erdos_renyi(m: int, rng: np.random.Generator, *, density: float) -> BoolArray:
    """Link every pair of nodes independently with probability ``density``."""
    return _links(nx.gnp_random_graph(m, density, seed=rng), m)


def barabasi_albert(
    m: int, rng: np.random.Generator, *, density: float, attachment: int | None = None
) -> BoolArray:
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
    elif not 1 <= attachment < m:
        raise ValueError(f"attachment={attachment}; pass an integer from 1 to m - 1 = {m - 1}")
    return _links(nx.barabasi_albert_graph(m, attachment, seed=rng), m)


def stochastic_block_model(
    m: int, rng: np.random.Generator, *, density: float, blocks: int = 2, ratio: float = 5.0
) -> BoolArray:
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
    The paper gives neither number. Two blocks are the plainest reading. Ratio 5 (at ``m = 20``
    and density 0.3: ``p_in = 0.52``, ``p_out = 0.10``) has clear communities, yet about ten links
    across them, so that the graph hardly ever falls apart. Alternatives: 2 blocks with ratio 10
    (0.57, 0.06), 4 blocks with ratio 5 (0.81, 0.16), 4 blocks with ratio 3 (0.63, 0.21).
    """
    if not 1 <= blocks <= m:
        raise ValueError(f"blocks={blocks}; pass a number of blocks from 1 to m = {m}")
    if not ratio >= 0:
        raise ValueError(f"ratio={ratio}; pass p_in / p_out as a number >= 0, or inf")
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
    p_in, p_out = min(1.0, scale * into), min(1.0, scale * across)
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
    if name not in GRAPH_FAMILIES:
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
                f"its options are {known or 'none'}"
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
    if m < 2:
        raise ValueError(f"m={m}; a graph needs at least 2 nodes")
    if not 0 < density <= 1:
        raise ValueError(f"density={density}; pass the expected fraction of linked pairs in (0, 1]")
    if weights not in ("uniform", "unit"):
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


# ------------------------------------------------------------------------------------ kernels


def resolvent_kernel(L: Array, alpha: float) -> Array:
    """Node kernel ``K_x = (I + alpha L)^-1 = U diag(1 / (1 + alpha l)) U'`` of a graph.

    Parameters
    ----------
    L : ndarray of shape (m, m)
        Graph Laplacian.
    alpha : float
        Strength of the smoothing, at least 0 (which gives the identity).

    Returns
    -------
    ndarray of shape (m, m)
        Exactly symmetric, with eigenvalues in (0, 1].

    Examples
    --------
    >>> resolvent_kernel(np.array([[1.0, -1.0], [-1.0, 1.0]]), alpha=2.0).round(6)
    array([[0.6, 0.4],
           [0.4, 0.6]])
    """
    if not (alpha >= 0 and np.isfinite(alpha)):
        raise ValueError(f"alpha={alpha}; pass a finite number >= 0")
    if alpha == 0:
        return np.eye(len(L))
    return LaplacianKernel(L, kind="resolvent", alpha=alpha).fit().matrix


def time_kernel(n: int, bandwidth: str | float = "median_distance") -> Array:
    """Observation kernel: the RBF ``exp(-gamma (i - j)^2)`` over the time stamps 0 .. n - 1.

    Parameters
    ----------
    n : int
        Number of observations.
    bandwidth : str or float, default "median_distance"
        One of `kgl.kernels.BANDWIDTH_RULES`, among them ``"median_distance"``:
        ``gamma = 1 / median(|i - j|)``, ``"median_sq"``: ``gamma = 1 / median((i - j)^2)`` and
        ``"median_sq_half"``: half of that; or ``gamma`` itself.

    Returns
    -------
    ndarray of shape (n, n)

    Notes
    -----
    The paper says "median heuristic". Read as the median of squared differences, 100 time stamps
    leave about 8 usable directions and no model recovers the graph from them, so the default is
    the reading that agrees with the paper's results.
    """
    if n < 1:
        raise ValueError(f"n={n}; pass at least one observation")
    if n == 1:
        return np.ones((1, 1))  # no pair of time stamps to take a median of
    rbf = RBF(bandwidth=bandwidth) if isinstance(bandwidth, str) else RBF(gamma=float(bandwidth))
    return np.asarray(rbf(np.arange(n, dtype=float)[:, None]))


# ------------------------------------------------------------------------------------ signals


def _root(K: Array, name: str) -> Array:
    """Symmetric square root ``K^{1/2} = Q diag(sqrt(k)) Q'``, for singular K too.

    It is unique, whatever signs or bases LAPACK chooses for the eigenvectors, so that seeded
    signals agree between machines up to rounding; a factor ``Q diag(sqrt(k))`` would not.
    """
    eigen = kernel_eigen(K, name, len(K))
    return np.asarray((eigen.vectors * np.sqrt(eigen.values)) @ eigen.vectors.T)


def smooth_signals(
    K_x: Array,
    K_z: Array | None,
    rng: np.random.Generator,
    *,
    n: int | None = None,
    noise: float = 0.01,
    noise_rng: np.random.Generator | None = None,
) -> tuple[Array, Array]:
    """Draw smooth signals ``F`` and their noisy observation ``Y = F + E``.

    ``vec(F) ~ N(0, K_x (x) K_z)``, drawn as ``F = K_z^{1/2} Xi K_x^{1/2}`` with standard normal
    ``Xi``; this is the law of the paper's ``F = K_z A K_x`` with
    ``vec(A) ~ N(0, K_x^+ (x) K_z^+)``, without a pseudo-inverse. ``E_ij ~ N(0, noise)``.

    Parameters
    ----------
    K_x : ndarray of shape (m, m)
        Node kernel, may be singular.
    K_z : ndarray of shape (n, n) or None
        Observation kernel, may be singular; None is the identity (independent observations).
    rng : numpy.random.Generator
        Source of ``Xi``.
    n : int, optional
        Number of observations; needed when ``K_z`` is None.
    noise : float, default 0.01
        Noise variance ``sigma_eps^2``, not the standard deviation.
    noise_rng : numpy.random.Generator, optional
        Source of ``E``; by default ``rng``, after ``Xi``.

    Returns
    -------
    F, Y : ndarray of shape (n, m)
        Clean and noisy signals.

    Notes
    -----
    ``E`` is ``sqrt(noise)`` times a standard normal matrix that is drawn at every noise level, 0
    included. Generators in the same state thus give the same ``F`` and the same noise up to its
    scale: levels are compared on one signal. With two generators and independent observations,
    the data for a smaller ``n`` are also the first rows of those for a larger one.

    Examples
    --------
    >>> calm, _ = smooth_signals(np.eye(3), None, np.random.default_rng(0), n=4, noise=0.0)
    >>> same, Y = smooth_signals(np.eye(3), None, np.random.default_rng(0), n=4, noise=1.0)
    >>> bool((calm == same).all()), Y.shape
    (True, (4, 3))
    """
    if not (noise >= 0 and np.isfinite(noise)):
        raise ValueError(f"noise={noise}; pass the noise variance, a finite number >= 0")
    root_x = _root(K_x, "K_x")
    if K_z is None:
        if n is None or n < 1:
            raise ValueError(f"n={n} with K_z=None; pass the number of observations n >= 1")
        root_z = None
    else:
        root_z = _root(K_z, "K_z")
        if n is not None and n != len(root_z):
            raise ValueError(f"n={n} but K_z has {len(root_z)} rows; leave n out")
        n = len(root_z)
    shape = (n, len(root_x))
    Xi = rng.standard_normal(shape)
    E = (rng if noise_rng is None else noise_rng).standard_normal(shape)
    F = Xi @ root_x
    if root_z is not None:
        F = root_z @ F
    return F, F + np.sqrt(noise) * E


def missing_mask(
    n: int,
    m: int,
    rate: float,
    rng: np.random.Generator,
    *,
    ensure_observed: bool = True,
) -> BoolArray:
    """Draw which entries of an ``n x m`` matrix are observed, ``M_ij ~ Bernoulli(1 - rate)``.

    Parameters
    ----------
    n, m : int
        Shape of the data.
    rate : float
        Missing rate, in [0, 1).
    rng : numpy.random.Generator
        Source of randomness; one ``n x m`` draw whatever the rate.
    ensure_observed : bool, default True
        Observe one random entry of every row and column that would be missing entirely, which the
        estimators reject. At rate 0.9 and ``m = 20`` this touches 12 % of the rows and brings the
        expected rate down to 0.894.

    Returns
    -------
    ndarray of bool, shape (n, m)
        True where observed.

    Notes
    -----
    An entry is observed if its uniform draw is at least ``rate``. Masks of different rates from
    generators in the same state are therefore nested: what is observed at a high rate is observed
    at every lower one. An empty row (or column) keeps the entry of its largest draw, the last one
    to go missing, so nesting holds with ``ensure_observed`` as well.

    Examples
    --------
    >>> few = missing_mask(50, 8, 0.9, np.random.default_rng(0))
    >>> many = missing_mask(50, 8, 0.5, np.random.default_rng(0))
    >>> bool(few.any(axis=1).all()), bool((few <= many).all())
    (True, True)
    """
    if n < 1 or m < 1:
        raise ValueError(f"n={n}, m={m}; pass a shape of at least 1 x 1")
    if not 0 <= rate < 1:
        raise ValueError(f"rate={rate}; pass the missing rate as a number in [0, 1)")
    draws = rng.random((n, m))
    observed: BoolArray = draws >= rate
    if ensure_observed:
        # the largest draw of a row is observed anyway unless the whole row is missing
        observed[np.arange(n), draws.argmax(axis=1)] = True
        observed[draws.argmax(axis=0), np.arange(m)] = True
    return observed


# ------------------------------------------------------------------------------------ data set


@dataclass(frozen=True, eq=False)
class SyntheticData:
    """One synthetic data set with everything that is known about it.

    Attributes
    ----------
    W, L : ndarray of shape (m, m)
        True weights, ``sum(W) = m``, and Laplacian.
    K_x : ndarray of shape (m, m)
        Node kernel ``(I + alpha L)^-1``. A function of the true graph: a model that is given it
        has been told part of the answer.
    K_z : ndarray of shape (n, n) or None
        Observation kernel; None for independent observations.
    signals : ndarray of shape (n, m)
        Clean signals ``F``.
    Y : ndarray of shape (n, m)
        Noisy signals, NaN where missing: the input of the models.
    Y_full : ndarray of shape (n, m)
        Noisy signals without gaps. ``Y_full - signals`` is pure noise, for a null control.
    mask : ndarray of bool, shape (n, m)
        True where observed.
    settings : dict
        The arguments of `make_dataset` that made this data set.
    """

    W: Array
    L: Array
    K_x: Array
    K_z: Array | None
    signals: Array
    Y: Array
    Y_full: Array
    mask: BoolArray
    settings: dict[str, Any]


def make_dataset(
    family: str = "sbm",
    *,
    m: int = 20,
    n: int = 100,
    alpha: float = 100.0,
    dependent: bool = False,
    bandwidth: str | float = "median_distance",
    noise: float = 0.01,
    missing: float = 0.0,
    density: float = 0.3,
    weights: Literal["uniform", "unit"] = "uniform",
    connected: bool = False,
    ensure_observed: bool = True,
    seed: int = 0,
    replicate: int = 0,
    **graph_options: Any,
) -> SyntheticData:
    """Draw a graph, smooth signals on it, noise and missing entries.

    Parameters
    ----------
    family, m, density, weights, connected, **graph_options
        The graph, see `random_graph`.
    n : int, default 100
        Number of observations.
    alpha : float, default 100
        Of ``K_x = (I + alpha L)^-1``, see `resolvent_kernel`.
    dependent : bool, default False
        Observations dependent over time (``K_z`` from `time_kernel`) or independent.
    bandwidth : str or float, default "median_distance"
        Of the time kernel; not used for independent observations.
    noise : float, default 0.01
        Noise variance ``sigma_eps^2``.
    missing : float, default 0
        Missing rate, see `missing_mask`.
    ensure_observed : bool, default True
        No row or column goes missing entirely, see `missing_mask`.
    seed : int, default 0
        Root seed of the study.
    replicate : int, default 0
        Which repetition.

    Returns
    -------
    SyntheticData

    Notes
    -----
    Graph, signal, noise and mask come from four streams of `kgl.seeding.stream`, each keyed by
    (purpose, family, m, replicate) and by nothing else. So all noise levels and missing rates of
    a replicate share the graph and the latent signal, noise differs by scale only, masks are
    nested, dependent and independent data share the graph, and (independent data) a smaller ``n``
    takes the first rows of a larger one. Curves over these settings are paired comparisons.

    Examples
    --------
    >>> quiet = make_dataset("er", noise=0.0)
    >>> loud = make_dataset("er", noise=2.0, missing=0.5)
    >>> bool((quiet.W == loud.W).all()), bool((quiet.signals == loud.signals).all())
    (True, True)
    """
    settings: dict[str, Any] = {
        "family": family,
        "m": m,
        "n": n,
        "alpha": alpha,
        "dependent": dependent,
        "bandwidth": bandwidth,
        "noise": noise,
        "missing": missing,
        "density": density,
        "weights": weights,
        "connected": connected,
        "ensure_observed": ensure_observed,
        "seed": seed,
        "replicate": replicate,
        **graph_options,
    }

    def draws(purpose: str) -> np.random.Generator:
        return stream(seed, purpose, family, m, replicate)

    W = random_graph(
        family,
        m,
        draws("graph"),
        density=density,
        weights=weights,
        connected=connected,
        **graph_options,
    )
    L = laplacian_from_adjacency(W)
    K_x = resolvent_kernel(L, alpha)
    K_z = time_kernel(n, bandwidth) if dependent else None
    F, Y_full = smooth_signals(
        K_x, K_z, draws("signal"), n=n, noise=noise, noise_rng=draws("noise")
    )
    mask = missing_mask(n, m, missing, draws("mask"), ensure_observed=ensure_observed)
    return SyntheticData(
        W=W,
        L=L,
        K_x=K_x,
        K_z=K_z,
        signals=F,
        Y=np.where(mask, Y_full, np.nan),
        Y_full=Y_full,
        mask=mask,
        settings=settings,
    )
