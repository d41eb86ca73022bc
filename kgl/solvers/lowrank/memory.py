"""How much memory a fit takes, estimated before any work starts."""

from __future__ import annotations

from kgl._memory import Estimate
from kgl.kernels.matrices import estimate_kernel

__all__ = ["estimate_dense", "estimate_sparse"]

#: Bytes per pair of nodes (i, j) at the peak of a dense graph step, as measured up to 6,000 nodes,
#: and of a dense fit of signals, an estimate from the arrays that it holds.
DENSE_GRAPH, DENSE_FIT = 61, 190
#: Bytes per candidate pair of a sparse graph step, and candidates per edge.
PER_CANDIDATE, CANDIDATES = 160, 4
#: Bytes per pair of a graph that links all of them, as measured at 2,000 nodes.
PER_PAIR = 280
#: Bytes of a block of prices, in multiples of nodes, for the screens of pairs.
PRICING_ROWS = 1024 * 12


def estimate_dense(n: int, m: int, *, fitted: bool, observations: bool) -> Estimate:
    """Estimate a fit with arrays of nodes by nodes."""
    pairs = (DENSE_FIT if fitted else DENSE_GRAPH) * m * m
    rest = 8 * 6 * n * m
    kernel = estimate_kernel(n)
    if observations and kernel.bytes > pairs:
        return Estimate(pairs + kernel.bytes + rest, f"{kernel.why} observations", kernel.remedy)
    return Estimate(
        pairs + kernel.bytes * observations + rest,
        f"arrays of {m} x {m} nodes",
        "use solver='sparse' with average_degree",
    )


def estimate_sparse(
    n: int, m: int, *, rank: int, directions: int, edges: int, masked: bool, white: bool
) -> Estimate:
    """Estimate a sparse fit.

    Parameters
    ----------
    n, m : int
        Observations and nodes.
    rank : int
        Columns of the factor of the kernel over the nodes, 0 without one.
    directions : int
        Directions of the kernel over the observations.
    edges : int
        Edges expected.
    masked, white : bool
        Whether entries are missing, and whether nodes vary by themselves.
    """
    width = directions if white or not rank else min(rank, directions)
    data = 8 * n * m * (5 + 3 * masked)
    factors = 8 * m * (4 * rank + 5 * width + (8 * directions if white else 2 * directions))
    candidates = PER_CANDIDATE * CANDIDATES * max(edges, 15 * m)
    graph = min(candidates, PER_PAIR * m * (m - 1) // 2) + PRICING_ROWS * m
    parts = {
        f"the data, {n} x {m}": data,
        f"factors of {m} nodes (rank {rank}, {directions} directions)": factors,
        f"a graph of about {edges} edges" if edges else f"a graph of {m} nodes": graph,
    }
    why = max(parts, key=lambda name: parts[name])
    remedies = {
        0: "use fewer observations at a time",
        1: "use a wider kernel or fewer observations",
        2: "use a smaller average_degree or psi, or allowed_edges",
    }
    return Estimate(sum(parts.values()), why, remedies[list(parts).index(why)])
