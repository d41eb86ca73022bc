"""Progress of long work, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

__all__ = ["Progress", "reporter"]

Progress = Callable[[int, int], None]
#: Work that is shorter, in seconds, is not reported unless asked for.
PATIENCE = 2.0


def reporter(progress: Any, what: str) -> Progress | None:
    """Return what to call as ``progress(done, total)``.

    Parameters
    ----------
    progress : callable, bool or None
        A function of one's own; True to write to standard error, False not to; None to write there
        if it is a terminal and the work takes longer than two seconds.
    what : str
        Name of the parts that are counted.
    """
    if callable(progress):
        return progress
    if progress not in (None, True, False):
        raise TypeError(
            f"progress = {progress!r} must be True, False, None or a function of (done, total)"
        )
    if progress is False or (progress is None and not sys.stderr.isatty()):
        return None
    begin, quiet = time.perf_counter(), progress is None

    def write(done: int, total: int) -> None:
        elapsed = time.perf_counter() - begin
        if quiet and elapsed < PATIENCE and done < total:
            return
        left = elapsed / done * (total - done) if done else float("nan")
        about = f", about {left:.0f} s left" if 0 < done < total else ""
        if done or not quiet:
            print(f"[kgl] {what} {done} of {total}{about}", file=sys.stderr, flush=True)

    write(0, 1)
    return write
