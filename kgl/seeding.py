"""Random streams keyed by names, never by position.

Position-based seeding (the i-th cell of a grid takes the i-th child seed) changes every later cell
when one is inserted. Here a stream is found by what it is for: ``stream(root, "noise", "sbm", 3)``
gives the same numbers whichever cells run, in whichever order, on whichever machine.
"""

from __future__ import annotations

import hashlib
import math
import operator
from numbers import Integral, Real
from typing import TypeAlias

import numpy as np

Name: TypeAlias = str | int | float

__all__ = ["Name", "stream", "stream_key"]


def _encode(name: Name) -> bytes:
    """Tag, byte length and value of one name, so that no two lists of names look alike."""
    if isinstance(name, str):
        tag, value = b"s", name.encode("utf-8", "surrogatepass")
    elif isinstance(name, bool | np.bool_):
        # bool is a subclass of int: without its own tag, True and 1 would share a stream
        tag, value = b"b", b"1" if name else b"0"
    elif isinstance(name, Integral):
        tag, value = b"i", b"%d" % operator.index(name)
    elif isinstance(name, Real):
        number = float(name)
        if math.isnan(number):
            raise ValueError("NaN cannot name a random stream: it equals nothing; use a string")
        # hex is exact on every platform; adding 0.0 makes -0.0 and 0.0, which are equal, one name
        tag, value = b"f", (number + 0.0).hex().encode()
    else:
        raise ValueError(
            f"{name!r} of type {type(name).__name__} cannot name a random stream; "
            "use str, int or float"
        )
    return b"%s%d:%s" % (tag, len(value), value)


def stream_key(*names: Name) -> str:
    """Return the digest that identifies a list of names (for a provenance record).

    Parameters
    ----------
    *names : str, int or float
        Order and type count: ``1``, ``1.0``, ``"1"`` and ``True`` are four names, and
        ``("ab", "c")`` is not ``("a", "bc")``. NumPy scalars count as the Python numbers they hold.

    Returns
    -------
    str
        The 128-bit BLAKE2b digest of the encoded names, as 32 hexadecimal digits.

    Examples
    --------
    >>> stream_key("sbm", 0, "noise")
    '4de5d6a05a70efb7adbef7e3d82c84ae'
    >>> stream_key("ab", "c") == stream_key("a", "bc")
    False
    """
    # Python's own hash() is salted per process and is no option here
    return hashlib.blake2b(b"".join(map(_encode, names)), digest_size=16).hexdigest()


def stream(root: int, *names: Name) -> np.random.Generator:
    """Return the random generator that belongs to these names under one root seed.

    Parameters
    ----------
    root : int
        The seed of the whole study, not negative.
    *names : str, int or float
        What the numbers are for, e.g. the graph family, the replicate and the purpose. See
        `stream_key` for what makes two lists of names differ.

    Returns
    -------
    numpy.random.Generator
        A fresh PCG64 generator. Two calls with the same arguments give two generators in the same
        state; no state is shared between calls.

    Notes
    -----
    The generator is ``PCG64(SeedSequence(root, spawn_key=words))`` with ``words`` the four 32-bit
    words of `stream_key`. ``SeedSequence`` mixes root and key, so streams of different names or
    roots are independent for all practical purposes. The bit generator is named rather than left
    to ``default_rng``, whose choice NumPy may change.

    Examples
    --------
    >>> float(stream(0, "sbm", 0, "noise").standard_normal())
    0.25889066638615266
    >>> float(stream(0, "sbm", 0, "noise").standard_normal())
    0.25889066638615266
    """
    try:
        root = operator.index(root)
    except TypeError:
        raise ValueError(f"the root seed is {root!r}; pass a non-negative integer") from None
    if root < 0:
        raise ValueError(f"the root seed is {root}; pass a non-negative integer")
    digest = bytes.fromhex(stream_key(*names))
    # big-endian by hand: np.frombuffer would follow the machine's byte order
    words = tuple(int.from_bytes(digest[k : k + 4], "big") for k in range(0, len(digest), 4))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(root, spawn_key=words)))
