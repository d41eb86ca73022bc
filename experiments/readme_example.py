"""The README's example: from gappy station records to a graph and its picture."""

from __future__ import annotations

import argparse

import matplotlib.pyplot as plt
import numpy as np

import kgl
from experiments import style


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", nargs="?", default="figures/readme_stations.png")
    output = parser.parse_args().output

    data = kgl.datasets.make_stations()
    model = kgl.KGL(density=0.15).fit(data.Y, x=data.x, z=data.z)
    print(model.to_edges().head(5).to_string(index=False))
    hidden = data.Y.isna().to_numpy()
    error = float(np.sqrt(np.mean((model.signals_ - data.truth)[hidden] ** 2)))
    print(f"{int(hidden.sum())} missing records filled in, root mean squared error {error:.2f} C")

    style.use()
    fig, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
    positions = data.x[["east", "north"]].to_numpy()
    altitude = data.x["altitude"].to_numpy()
    model.plot(ax, positions=positions, values=altitude, values_label="altitude (km)")
    ax.set_title("Learned graph of 24 simulated stations")
    fig.savefig(output, metadata={"Software": None})
    print(f"wrote {output}")


if __name__ == "__main__":
    main()
