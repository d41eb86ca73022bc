"""The README's example: from gappy station records to a graph and its picture."""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import kgl
from experiments import style

ROOT = Path(__file__).parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="few stations, no file written")
    tiny = parser.parse_args().tiny

    data = kgl.datasets.make_stations(*((8, 24) if tiny else (24, 72)))
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
    if tiny:
        print("tiny run: no figure written")
        return
    (ROOT / "figures").mkdir(exist_ok=True)
    fig.savefig(ROOT / "figures" / "readme_stations.png", dpi=200)
    print("wrote figures/readme_stations.png")


if __name__ == "__main__":
    main()
