"""The README's example: from gappy station records to probabilities of edges and their picture.

``python -m experiments.figures.readme_example stations.png`` draws it alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import kgl
from experiments.figures import style


def draw(output: str, report: Callable[[str], None] = print) -> None:
    """Fit the Bayesian model to simulated stations, report on filled records, draw the graph."""
    data = kgl.datasets.make_stations()
    model = kgl.BayesianKGL().fit(data.Y, x=data.x, z=data.z)
    hidden = data.Y.isna().to_numpy()
    error = float(np.sqrt(np.mean((model.signals_ - data.signals)[hidden] ** 2)))
    report(f"{int(hidden.sum())} missing records filled in, root mean squared error {error:.2f} C")

    mpl.use("Agg")
    style.use()
    fig, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
    positions = data.x[["east", "north"]].to_numpy()
    altitude = data.x["altitude"].to_numpy()
    model.plot(ax, positions=positions, values=altitude, values_label="altitude (km)")
    ax.set_title("Edges of 24 simulated stations, by probability")
    fig.savefig(output, metadata={"Software": None})
    report(f"wrote {output}")


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "figures/readme_stations.png")
