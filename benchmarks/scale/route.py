"""Is ``solver="auto"`` ever slower than the dense way? CPU seconds side by side, share by share."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from scipy import sparse

import kgl
from benchmarks.scale.data import smooth_features

__all__ = ["SHARES", "TASKS"]

#: Shares of all pairs that are edges.
SHARES = (0.003, 0.01, 0.03, 0.06, 0.1, 0.3)
ROWS = 100
SEED = 151
#: Fits of each way, in turns; the shortest counts. Small ones take a tenth of a second.
FITS = {1000: 9, 2000: 4, 3000: 3}


def auto(m: int, regularizer: str, given: str) -> dict[str, Any]:
    """Fit each share of edges by ``auto`` and the dense way, ``given`` psi or a density."""
    Y = smooth_features(m, ROWS, SEED).T
    found: dict[str, Any] = {"m": m}
    kgl.GL(regularizer=regularizer, density=0.01).fit(Y[:, :200])  # imports
    for share in SHARES:
        model = kgl.GL(regularizer=regularizer, density=share)
        if given == "psi":
            model = kgl.GL(regularizer=regularizer, psi=model.fit(Y).psi_)
        times: dict[str, list[float]] = {"auto": [], "newton": []}
        ways: dict[str, str] = {}
        for _ in range(FITS[m]):
            for solver, taken in times.items():
                begin = time.process_time()
                fitted = model.set_params(solver=solver).fit(Y)
                taken.append(time.process_time() - begin)
                ways[solver] = "sparse" if sparse.issparse(fitted.weights_) else "dense"
        found[f"way_{share:g}"] = ways["auto"]
        for solver, taken in times.items():
            found[f"{solver}_{share:g}"] = min(taken)
    return found


TASKS: dict[str, Callable[[], dict[str, Any]]] = {
    f"auto-{m}-{regularizer}-{given}": partial(auto, m, regularizer, given)
    for m in FITS
    for regularizer in ("frobenius", "log-degree")
    for given in ("psi", "density")
}
