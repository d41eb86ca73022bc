"""Every campaign: what it attacks, its sizes, and what must hold."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any


@dataclass(frozen=True)
class Campaign:
    """One campaign: ``module`` has ``run(budget, seed)``.

    ``full`` and ``short`` are budgets, in ``unit``: of `make campaign`, and of `make test`.
    """

    name: str
    module: str
    unit: str
    full: int
    short: int
    what: str
    bar: str

    def run(self, budget: int, seed: int) -> dict[str, Any]:
        """Return the result of a run."""
        found: dict[str, Any] = import_module(self.module).run(budget, seed)
        return found if "faults" in found else _of_certificates(found)


def _of_certificates(found: dict[str, Any]) -> dict[str, Any]:
    """Return the result of the campaign of certificates as others have it."""
    kinds = {
        "beyond": "residuals beyond the factor", "silent": "silent failures", "errors": "errors"
    }  # fmt: skip
    paths = found["paths"]
    return {
        "tried": found["problems"],
        "faults": {text: len(found[key]) for key, text in kinds.items()},
        "counts": {f"of: {name}": row["problems"] for name, row in paths.items()},
        "examples": [dict(one, fault=text) for key, text in kinds.items() for one in found[key]],
        "details": {
            "largest factor": max(row["largest_ratio"] for row in paths.values()),
            "largest residual": max(row["largest_residual"] for row in paths.values()),
        },
    }


_ALL = (
    Campaign(
        "fuzz", "tests.campaigns.fuzz", "calls", 100_000, 1_500,
        "Random calls of the public interface with good, unusual and wrong input.",
        "no raw traceback, no wrong result, no changed input, no hang over 60 s, no bad "
        "certificate without a warning",
    ),
    Campaign(
        "certificates", "tests.campaigns.certificates", "problems", 3_000, 100,
        "Log-degree problems whose nodes have scales over up to eight decades.",
        "the residual recomputed in extended precision is within a factor of 10 of the reported "
        "one; none above 1e-8 without a warning",
    ),
    Campaign(
        "bits", "tests.campaigns.bits", "flips and truncations", 2_000, 200,
        "A bit flipped in, or an end cut off, each kind of file that is written and read back.",
        "refused with a message, or read as it was written: never silently different",
    ),
    Campaign(
        "disk", "tests.campaigns.disk", "attempts", 60, 12,
        "A full disk, a directory without write permission, two runs in one checkout.",
        "a message that names the cause; nothing that was there is lost or truncated",
    ),
    Campaign(
        "hostile", "tests.campaigns.hostile", "inputs", 2_000, 150,
        "Names, overrides, tables and archives made to leave the results directory or to inject "
        "HTML.",
        "refused with a message, or without effect: nothing outside, nothing injected",
    ),
    Campaign(
        "kills", "tests.campaigns.kills", "kills", 100, 0,
        "SIGKILL of the whole run, of single jobs, and Ctrl-C, at random moments of the smoke "
        "study; the same command goes on.",
        "the same bytes as a run without kills, no manual step, no stray file, every rule hit",
    ),
    Campaign(
        "mutation", "tests.campaigns.mutation", "mutants", 250, 2,
        "Small faults put into the code of solvers, metrics, simulation, scores and claims; their "
        "tests must fail.",
        "at least nine of ten faults are caught",
    ),
)  # fmt: skip

#: By name; a campaign whose module is not there is left out.
CAMPAIGNS = {one.name: one for one in _ALL if find_spec(one.module) is not None}
