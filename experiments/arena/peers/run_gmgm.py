"""GmGM: graphs of rows and of columns at once, with the threshold of its manual by default."""

from __future__ import annotations

import numpy as np
from adapter import partial_correlations, serve
from GmGM import Dataset, GmGM


def precision(problem, **options):
    given = Dataset(dataset={"table": problem.table}, structure={"table": ("row", "node")})
    found = GmGM(given, **options).precision_matrices["node"]
    return found.toarray() if hasattr(found, "toarray") else np.asarray(found)


def default(problem):
    """All pairs: nothing is thresholded unless asked for."""
    return partial_correlations(precision(problem))


if __name__ == "__main__":
    serve(["gmgm", "numpy"], default)
