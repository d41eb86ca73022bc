"""Random calls of the public interface, judged one by one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.campaigns.fuzz import fits, tools
from tests.campaigns.fuzz.judge import Call, judge
from tests.campaigns.fuzz.values import Draw
from tests.campaigns.result import Tally

FAULTS = {
    "raw": "raw tracebacks",
    "wrong": "wrong results",
    "changed": "changed inputs",
    "hang": "hangs",
}
#: Every how many calls one is made twice.
TWICE = 4
#: Calls that share a generator, so that a fault can be seen again without those before.
SEEDED = "seed, number of the call"

#: Makers of calls and how often each is drawn.
KINDS: tuple[tuple[float, Callable[..., Call]], ...] = (
    (30, fits.fit),
    (6, fits.fit_grid),
    (1.5, fits.select),
    (1.5, fits.stability),
    (0.2, fits.compare),
    (0.4, fits.bayesian),
    (3, fits.impute),
    (4, fits.rows),
    (2, fits.sparse_fit),
    (14, fits.method),
    (1, fits.export),
    (9, tools.learn),
    (4, tools.residual),
    (11, tools.score),
    (7, tools.draw),
    (8, tools.kernel),
    (2, tools.fold),
)
NEEDS_FITTED = (fits.method, fits.export)


def make(seed: int, number: int, fitted: fits.Fitted) -> Call:
    """Return a call; the same for the same seed and number."""
    rng = np.random.default_rng([seed, number])
    shares = np.array([share for share, _ in KINDS])
    kind = KINDS[int(rng.choice(len(KINDS), p=shares / shares.sum()))][1]
    return kind(Draw(rng), fitted) if kind in NEEDS_FITTED else kind(Draw(rng))


def run(budget: int, seed: int, first: int = 0) -> dict[str, Any]:
    """Make ``budget`` calls."""
    tally = Tally(budget, "calls", list(FAULTS.values()))
    fitted = fits.Fitted(np.random.default_rng(0))
    slowest = 0.0
    for number in range(first, first + budget):
        call = make(seed, number, fitted)
        begin = time.monotonic()
        verdict = judge(call, twice=number % TWICE == 0)
        slowest = max(slowest, time.monotonic() - begin)
        if verdict.kind in FAULTS:
            tally.fault(
                FAULTS[verdict.kind], call=call.name, number=number, seed=seed, what=verdict.what
            )
        else:
            tally.counts["refused clearly" if verdict.kind == "refused" else "answered"] += 1
        tally.step()
    tally.details["slowest call, seconds"] = round(slowest, 1)
    return tally.record()
