"""Are grids slower than in another checkout? Ratios of CPU time, measured side by side.

    git worktree add ../before <commit>
    python -m benchmarks.against ../before

Each round starts one fresh process per checkout, in alternating order, with one thread. A process
takes each grid several times and reports the shortest. The ratio of a round is this checkout's time
by the other's; the median over rounds is what counts, its quartiles say how far the machine agrees
with itself.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["main"]

HERE = Path(__file__).parent.parent
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
#: A grid is taken until so many CPU seconds are over.
SECONDS = 1.0


def grids() -> dict[str, Callable[[], Any]]:
    """Return the grids by name; only what every version of kgl has may be called here."""
    import kgl

    def grid(
        model: Any, m: int, n: int, kernels: tuple[str, ...], missing: float = 0.0, **axes: Any
    ) -> Callable[[], Any]:
        data = kgl.simulate.make_dataset("er", m=m, n=n, noise=0.1)
        Y = data.Y.copy()
        if missing:
            Y[np.random.default_rng(0).random(Y.shape) < missing] = np.nan
        given = {name: getattr(data, name) for name in kernels}
        return lambda: kgl.fit_grid(model, Y, **given, **axes)

    psi = np.logspace(-2, 1, 8)
    both = ("K_x", "K_z")
    return {
        "GL, 20 nodes": grid(kgl.GL, 20, 100, (), psi=np.logspace(-3, 1, 40)),
        "KGL, 20 nodes": grid(
            kgl.KGL, 20, 100, both, lam=[0.01, 0.1, 1.0], rho=[0.1, 1.0, 10.0], psi=psi
        ),
        "KGL, 20 nodes, 30 % missing": grid(
            kgl.KGL, 20, 100, both, missing=0.3, lam=[0.1, 1.0], rho=[0.1, 1.0], psi=psi
        ),
        "KGL-N, 100 nodes": grid(kgl.KGLN, 100, 100, ("K_x",), lam=[0.1, 1.0], rho=[0.1], psi=psi),
        "KGL-N, 200 nodes, 30 % missing": grid(
            kgl.KGLN, 200, 60, ("K_x",), missing=0.3, lam=[0.1], rho=[0.1, 1.0], psi=psi[::2]
        ),
        "KGL, 200 nodes": grid(kgl.KGL, 200, 60, both, lam=[0.1], rho=[0.1, 1.0], psi=psi),
    }


def time_grids() -> dict[str, float]:
    """Return the shortest CPU time of each grid in this process."""
    shortest = {}
    for name, run in grids().items():
        run()  # imports and caches
        times: list[float] = []
        while sum(times) < SECONDS:
            begin = time.process_time()
            run()
            times.append(time.process_time() - begin)
        shortest[name] = min(times)
    return shortest


def time_checkout(checkout: Path) -> dict[str, float]:
    """Time the grids of a checkout in a process of its own; the code timed is all it lends."""
    environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": str(checkout)}
    command = [sys.executable, str(Path(__file__).resolve()), "--one", str(checkout)]
    done = subprocess.run(command, env=environment, cwd=checkout, capture_output=True, text=True,
                          check=False)  # fmt: skip
    if done.returncode:
        raise SystemExit(f"error: the grids of {checkout} failed:\n{done.stderr.strip()[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.against",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("other", type=Path, help="a checkout to compare this one with")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    other = options.other.resolve()
    if not (other / "kgl" / "__init__.py").exists():
        parser.error(f"{options.other} is not a checkout of kgl")
    if options.one:
        import kgl

        assert Path(kgl.__file__).is_relative_to(other), kgl.__file__
        print(json.dumps(time_grids()))
        return
    rounds: list[dict[str, float]] = []
    for count in range(options.rounds):
        order = (HERE, other) if count % 2 else (other, HERE)
        found = {checkout: time_checkout(checkout) for checkout in order}
        rounds.append({name: t / found[other][name] for name, t in found[HERE].items()})
        print(f"round {count + 1} of {options.rounds}", file=sys.stderr, flush=True)
    print(f"{'this checkout / the other, CPU time':<36}median  quartiles")
    for name in rounds[0]:
        low, middle, high = np.quantile([found[name] for found in rounds], [0.25, 0.5, 0.75])
        print(f"{name:<36}{middle:.3f}   {low:.3f} to {high:.3f}")


if __name__ == "__main__":
    main()
