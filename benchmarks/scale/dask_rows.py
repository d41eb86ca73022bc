"""Sums over rows on the workers of Dask, one graph here: needs `pip install dask`.

Run with ``python -m benchmarks.scale.dask_rows``. The library itself never imports Dask.
"""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np

import kgl

ROWS, NODES = 200_000, 50


def main() -> None:
    array = da.random.default_rng(0).normal(size=(ROWS, NODES), chunks=(20_000, NODES))
    array = array + da.roll(array, 1, axis=1)  # neighbours on a ring
    array = array.rechunk({1: -1})  # every block has all columns
    # each worker sums its own rows; NODES x NODES numbers of each block travel
    blocks = [dask.delayed(kgl.RowSums.of)(block) for block in array.to_delayed().ravel()]
    small = kgl.compress(sum(dask.compute(*blocks)))
    model = kgl.GL(average_degree=2).fit(small)
    # the same with block after block read by this process, and with all rows in memory
    read = kgl.GL(average_degree=2).fit(kgl.compress(array))
    whole = kgl.GL(average_degree=2).fit(array.compute())
    for other in (read, whole):
        difference = np.abs(other.weights_ - model.weights_).max() / model.weights_.max()
        print(f"largest relative difference of weights: {difference:.1e}")
        assert difference < 1e-10
    print(model.summary())


if __name__ == "__main__":
    main()
