"""Where nodes are drawn: on the map if positions are known, else by the weights."""

from __future__ import annotations

import numpy as np

from kgl._types import Array
from kgl.command.inputs import Inputs
from kgl.command.learning import Learned

__all__ = ["place_nodes"]


def place_nodes(inputs: Inputs, learned: Learned, seed: int) -> Array:
    """Return positions (m, 2), across and up.

    Degrees are drawn in the equirectangular projection: a degree of longitude is as long as it is
    at the middle latitude.
    """
    known = inputs.positions
    if known is not None:
        places = known.values.copy()
        if known.degrees:
            middle = (places[:, 1].min() + places[:, 1].max()) / 2.0
            places[:, 0] *= max(0.1, float(np.cos(np.radians(middle))))
        return places
    import networkx as nx

    # names may be of any kind to networkx: numbers, so that the layout depends on the seed alone
    graph = nx.Graph()
    graph.add_nodes_from(range(len(inputs.names)))
    graph.add_weighted_edges_from(learned.edges)
    layout = nx.spring_layout(graph, weight="weight", seed=seed, iterations=150)
    return np.array([layout[k] for k in range(len(inputs.names))])
