"""Studies whose table is measured by jobs of their own, beside the replication of the paper.

A kind of study is a package of this one. It has ``design.parts(design)``, the jobs by name, and
``design.JOB``, the settings that all of them depend on;
``measure.check(design)``, which refuses what cannot be meant; and ``measure.measure(part, design,
report)``, which returns the rows of a job, with the message of a failure, or an empty text, in
``error``. Its design is in conf/study under the name of the kind. A text of ``docs/`` is rendered
from the published table by ``text_of`` in a module of the same name in ``experiments/report``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

__all__ = ["BESIDE", "KINDS", "PAGES", "Measured", "measured"]

#: The packages.
KINDS = ("arena", "pays", "trust")
#: Further studies of these kinds whose tables are published; pages have a section about them.
BESIDE = ("trust_prepared",)
#: The texts that are rendered from the published tables.
PAGES = {
    "arena": "docs/arena.md",
    "pays": "docs/when-it-pays.md",
    "trust": "docs/trust-study.md",
}


@dataclass(frozen=True)
class Measured:
    """The design of a study that is measured by jobs of its own."""

    kind: str
    design: dict[str, Any]

    @cached_property
    def parts(self) -> dict[str, dict[str, Any]]:
        """The jobs by name."""
        found: dict[str, dict[str, Any]] = self._module("design").parts(self.design)
        return found

    @property
    def shared(self) -> dict[str, Any]:
        """The settings that every job depends on: those of other jobs may change without it."""
        return {name: self.design[name] for name in self._module("design").JOB}

    def check(self) -> None:
        """Refuse names that lead nowhere, and what is not installed, before any work starts."""
        self._module("measure").check(self.design)

    @property
    def measure(self) -> Callable[..., Any]:
        """The function that does a job."""
        found: Callable[..., Any] = self._module("measure").measure
        return found

    def _module(self, name: str) -> Any:
        return import_module(f"experiments.{self.kind}.{name}")


def measured(config: Mapping[str, Any]) -> Measured | None:
    """Return the design of a study of one of these kinds; None for any other."""
    return next((Measured(kind, config[kind]) for kind in KINDS if config.get(kind)), None)
