"""CPU seconds and memory of one piece of work in a process of its own."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["measured", "memory_mb"]

T = TypeVar("T")


def memory_mb(field: str = "VmHWM") -> float:
    """Return the peak memory of this process, or ``VmRSS``, what it holds now."""
    try:
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024
    except OSError:  # not Linux
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1024**2


def measured(function: Callable[[], T]) -> tuple[T, dict[str, float]]:
    """Return what a function returns, its CPU seconds, and the memory before it and at its peak."""
    before, begin = memory_mb("VmRSS"), time.process_time()
    found = function()
    cpu = time.process_time() - begin
    return found, {"cpu_s": cpu, "before_mb": before, "peak_mb": memory_mb()}
