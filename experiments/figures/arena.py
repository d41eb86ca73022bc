"""Which package finds the graph?"""

from __future__ import annotations

from experiments.figures import Drawn, Inputs


def behind(inputs: Inputs) -> Drawn:
    """Draw."""
    raise NotImplementedError
