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


def _from_group(
    mount: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> int | None:
    """Return the least that the control groups of this process leave, from its own upwards.

    A container often sees its own group as the root of ``mount``, while ``own`` has the path that
    the host gave it: directories that are not there are passed over.
    """
    left = []
    for hierarchy, path in _groups(own):
        base = mount if hierarchy == "" else mount / hierarchy
        names = [name for name in path.split("/") if name not in ("", "..")]
        for depth in range(len(names), -1, -1):
            left.append(_left_in(base.joinpath(*names[:depth])))
    return min((value for value in left if value is not None), default=None)


def _groups(own: Path) -> list[tuple[str, str]]:
    """Return the hierarchies of memory, as directories of the mount, and the paths in them."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        lines = []
    found = {"": "/", "memory": "/"}  # of version 2 and of version 1
    for line in lines:
        match line.split(":", 2):
            case [_, "", path]:
                found[""] = path
            case [_, controllers, path] if "memory" in controllers.split(","):
                found["memory"] = path
    return list(found.items())


def _left_in(group: Path) -> int | None:
    """Return what is left of the limit of one control group, None without a limit."""
    for most, used, prefix in (
        ("memory.max", "memory.current", ""),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
    ):
        try:
            limit, now = (int((group / name).read_text()) for name in (most, used))
        except (OSError, ValueError):  # no such file; "max"
            continue
        if limit < 1 << 60:
            return max(limit - max(now - _cached(group, prefix), 0), 0)
    return None


def _cached(group: Path, prefix: str) -> int:
    """Return the bytes of files in memory, which the system drops where memory is short.

    Pages that were read twice are active, yet no less free to go: ``MemAvailable`` of the system
    counts both kinds too.
    """
    try:
        lines = (group / "memory.stat").read_text().splitlines()
        counts = {name: int(value) for name, value in map(str.split, lines)}
    except (OSError, ValueError):
        return 0
    return sum(counts.get(f"{prefix}{kind}_file", 0) for kind in ("inactive", "active"))


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
