"""Memory that work needs and that is available: refused with the numbers before it starts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Estimate", "available_memory", "check_memory"]


@dataclass(frozen=True)
class Estimate:
    """Memory that a piece of work needs at its peak.

    Attributes
    ----------
    bytes : int
        The sum.
    why : str
        What takes most of it.
    remedy : str
        What would take less.
    """

    bytes: int
    why: str
    remedy: str


def available_memory() -> int | None:
    """Return how many bytes a process can still get here; None where that is unknown.

    The smaller of what the system and what a control group (a container, a batch job) leaves.
    """
    found = [_from_meminfo(), _from_group()]
    known = [value for value in found if value is not None]
    if known:
        return min(known)
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _from_meminfo() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return None
    for line in text.splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _from_group() -> int | None:
    base = Path("/sys/fs/cgroup")
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            most, now = (base / limit).read_text().strip(), (base / used).read_text().strip()
        except OSError:
            continue
        if most.isdigit() and int(most) < 1 << 60:
            return max(int(most) - int(now), 0)
    return None


def check_memory(need: Estimate, what: str) -> None:
    """Refuse work for which the memory will not suffice; ``what`` names it."""
    have = available_memory()
    if have is None or need.bytes <= have:
        return
    raise MemoryError(
        f"{what} needs about {_shown(need.bytes)}, most of it for {need.why}, but only "
        f"{_shown(have)} of memory is available; {need.remedy}"
    )


def _shown(size: int) -> str:
    return f"{size / 2**30:.1f} GB" if size >= 2**30 else f"{size / 2**20:.0f} MB"
