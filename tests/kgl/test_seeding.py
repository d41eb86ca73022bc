"""Streams are found by name: stable, typed, independent of the order of calls."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from kgl.seeding import stream, stream_key


def test_first_draws_never_change() -> None:
    # Literals: a change here changes every published number.
    assert stream_key("sbm", 0, "noise") == "4de5d6a05a70efb7adbef7e3d82c84ae"
    draws = stream(0, "sbm", 0, "noise").integers(0, 2**63, 3)
    assert draws.tolist() == [1636763412499511815, 7147480812358402144, 3181659132551011423]
    assert int(stream(7).integers(0, 2**63)) == 1805348282817476545


def test_same_in_a_process_with_another_hash_salt() -> None:
    code = "from kgl.seeding import stream; print(stream(3, 'a', 1, 0.1).integers(0, 2**62))"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": salt},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for salt in ("1", "2")
    }
    assert printed == {str(stream(3, "a", 1, 0.1).integers(0, 2**62))}


def test_different_names_and_roots_give_different_streams() -> None:
    keys: list[tuple[int, tuple[str | int | float, ...]]] = [
        (0, ()),
        (1, ()),
        (0, ("",)),
        (0, ("", "")),
        (0, ("1",)),
        (0, (1,)),
        (0, (1.0,)),
        (0, (True,)),
        (0, (-1,)),
        (0, ("ab", "c")),
        (0, ("a", "bc")),
        (0, ("abc",)),
        (0, ("a", 1)),
        (0, (1, "a")),
        (0, ("s1:a",)),
        (0, ("as1:b",)),
        (0, ("a", "b")),
        (0, (0.1,)),
        (0, (0.1 + 2**-56,)),
        (0, (float("inf"),)),
        (2**40, ("a", 1)),
        (2**200, ("a", 1)),
    ]
    draws = [tuple(stream(root, *names).integers(0, 2**63, 2)) for root, names in keys]
    for (a, x), (b, y) in combinations(zip(keys, draws, strict=True), 2):
        assert x != y, f"{a} and {b} share a stream"


def test_numpy_scalars_are_the_numbers_they_hold() -> None:
    assert stream_key(np.int64(3), np.float64(0.5)) == stream_key(3, 0.5)
    assert stream_key(np.float32(0.5)) == stream_key(0.5)
    assert stream_key(np.bool_(True)) == stream_key(True)
    assert stream_key(-0.0) == stream_key(0.0)
    assert stream(np.int64(3), "a").random() == stream(3, "a").random()


@pytest.mark.parametrize(
    ("names", "message"),
    [((float("nan"),), "NaN"), ((None,), "NoneType"), ((("a", 1),), "tuple")],
)
def test_bad_names(names: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stream(0, *names)  # type: ignore[arg-type]


@pytest.mark.parametrize("root", [-1, 0.5, "0", None])
def test_bad_root(root: object) -> None:
    with pytest.raises(ValueError, match="non-negative integer"):
        stream(root)  # type: ignore[arg-type]
