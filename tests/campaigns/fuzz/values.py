"""Input for calls: good, unusual and wrong, as users give it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from kgl._types import Array

#: Values of any kind, for arguments that should be something else.
STRANGE: tuple[Callable[[], Any], ...] = (
    lambda: "text",
    lambda: "",
    lambda: None,
    lambda: True,
    lambda: [],
    lambda: {},
    lambda: {"a": 1},
    lambda: object(),
    lambda: float("nan"),
    lambda: float("inf"),
    lambda: -1,
    lambda: 0,
    lambda: 2.5,
    lambda: 1j,
    lambda: b"bytes",
    lambda: np.array([]),
    lambda: np.array([1.0, 2.0]),
    lambda: np.array([["a", "b"], ["c", "d"]]),
    lambda: pd.DataFrame(),
    lambda: pd.Series([1.0, 2.0]),
    lambda: datetime.date(2020, 1, 1),
    lambda: np.datetime64("NaT"),
    lambda: int,
    lambda: (1, 2, 3),
    lambda: {1, 2},
    lambda: range(3),
    lambda: lambda *_: 1.0,
    lambda: np.zeros((2, 2, 2)),
    lambda: 10**400,
)


class Draw:
    """Draws input; how often it is unusual or wrong is drawn once for each call."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.odd, self.bad = [(0.0, 0.0), (0.3, 0.0), (0.1, 0.08), (0.2, 0.3)][rng.integers(4)]

    def quality(self) -> str:
        """Return "bad", "odd" or "good", for one argument."""
        u = self.rng.random()
        return "bad" if u < self.bad else "odd" if u < self.bad + self.odd else "good"

    def one(self, choices: Sequence[Any]) -> Any:
        """Return one of the choices."""
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def strange(self) -> Any:
        return self.one(STRANGE)()

    def option(self, choices: Sequence[Any]) -> Any:
        """Return one of the choices, or now and then something else."""
        if self.quality() == "bad":
            return self.one([*map(str, choices), "Node", "", None, 3, ["a"], True, np.nan])
        return self.one(choices)

    def number(self, low: float = -3.0, high: float = 2.0) -> Any:
        """Return a positive number between powers of ten, or another value."""
        quality = self.quality()
        if quality == "bad":
            return self.one(
                [0.0, -1.0, np.nan, np.inf, -np.inf, "0.1", [0.1], np.array([0.1, 1.0]), 1j]
                + [self.strange() for _ in range(3)]
            )
        value = float(10.0 ** self.rng.uniform(low, high))
        if quality == "odd":
            return self.one(
                [1e-300, 5e-324, 1e300, 1e-12, 1e12, 1e22, np.float32(value), np.float16(0.5), 1]
                + [Decimal("0.25"), Fraction(1, 3), np.int8(3), np.array(value)]
            )
        return value

    def share(self) -> Any:
        """Return a number in (0, 1], or another value."""
        quality = self.quality()
        if quality == "bad":
            return self.one([0.0, -0.1, 1.5, np.nan, "low", [], [0.3, 0.4], self.strange()])
        if quality == "odd":
            return self.one([1.0, 1e-9, 0.999999, 1, np.float32(0.3)])
        return float(self.rng.uniform(0.1, 0.9))

    def count(self, low: int, high: int) -> Any:
        """Return a whole number, or another value."""
        quality = self.quality()
        if quality == "bad":
            return self.one([0, -3, 2.5, "many", None, np.nan, True, 1j, self.strange()])
        value = int(self.rng.integers(low, high + 1))
        return self.one([np.int64(value), np.int32(value), low]) if quality == "odd" else value

    def flag(self) -> Any:
        if self.quality() == "bad":
            return self.one(["no", "True", 1, 0, None, [], self.strange()])
        return self.one([True, False, np.bool_(True)])

    def seed(self) -> Any:
        if self.quality() == "bad":
            return self.one([-1, 1.5, "seed", [1.5], {}, object()])
        return self.one([0, 7, 2**40, np.int64(3)])

    # ------------------------------------------------------------------------------- tables

    def signals(self, n: int, m: int) -> Array:
        """Return correlated signals."""
        mix = self.rng.normal(size=(m, m)) * (self.rng.random((m, m)) < 0.5) + np.eye(m)
        return np.asarray(self.rng.normal(size=(n, m)) @ mix)

    def data(self, n: int, m: int) -> Any:
        """Return a table of signals, one row for each observation."""
        Y = self.signals(n, m)
        if self.chance(0.3):
            Y = np.where(self.rng.random(Y.shape) < 0.2, np.nan, Y)
            Y[np.arange(n), self.rng.integers(m, size=n)] = 1.0
            Y[self.rng.integers(n, size=m), np.arange(m)] = -0.5
        quality = self.quality()
        if quality == "bad":
            return self._wrong_data(Y)
        if quality == "odd":
            return self._odd_data(Y)
        return self.frame(Y) if self.chance(0.3) else Y

    def frame(self, Y: Array) -> pd.DataFrame:
        names = self.one([None, list("abcdefghijklmnop"), [f"node {k}" for k in range(99)]])
        index = self.one([None, pd.date_range("2020-01-01", periods=len(Y)), range(5, len(Y) + 5)])
        columns = None if names is None else names[: Y.shape[1]]
        return pd.DataFrame(Y, columns=columns, index=index)

    def _odd_data(self, Y: Array) -> Any:
        n, m = Y.shape
        full = np.nan_to_num(Y)
        scales = 10.0 ** self.rng.uniform(-4, 4, m)
        make: list[Callable[[], Any]] = [
            lambda: np.zeros((n, m)),
            lambda: np.full((n, m), 3.0),
            lambda: np.where(np.arange(m) == 0, 1.0, full),
            lambda: np.repeat(full[:, :1], m, axis=1),
            lambda: Y * 10.0 ** self.rng.uniform(-12, 12),
            lambda: Y * self.one([1e-200, 1e-160, 1e100, 1e155, 1e200]),
            lambda: Y * scales,
            lambda: Y + 1e9,
            lambda: Y.astype(np.float32),
            lambda: np.round(full * 3).astype(int),
            lambda: full > 0,
            lambda: Y.tolist(),
            lambda: np.asfortranarray(Y),
            lambda: np.exp(Y),
            lambda: Y[:1],
            lambda: Y[:2],
            lambda: np.ma.masked_invalid(Y),
            lambda: np.ma.masked_array(full, full > 1.0),
            lambda: pd.DataFrame(Y).astype("Float64"),
            lambda: pd.DataFrame(Y, columns=[(k, "x") for k in range(m)]),
            lambda: pd.DataFrame(Y, columns=self.rng.permutation(m)),
            lambda: pd.DataFrame(np.round(full * 3).astype(int)).astype("Int64"),
            lambda: full.astype(object),
            lambda: np.where(self.rng.random((n, m)) < 0.7, np.nan, Y),
            lambda: np.outer(np.arange(n), np.arange(1, m + 1)) * 1.0,
            lambda: np.where(full > 2, 5e-324, full),
            lambda: _frozen(Y),
        ]
        return self.one(make)()

    def _wrong_data(self, Y: Array) -> Any:
        n, m = Y.shape
        hole = Y.copy()
        hole[:, 0] = np.nan
        gap = Y.copy()
        gap[0] = np.nan
        infinite = Y.copy()
        infinite[0, 0] = np.inf
        make: list[Callable[[], Any]] = [
            lambda: Y[:, 0],
            lambda: Y[:, :1],
            lambda: Y[None],
            lambda: Y[:0],
            lambda: Y[:, :0],
            lambda: hole,
            lambda: gap,
            lambda: infinite,
            lambda: np.full((n, m), np.nan),
            lambda: Y.astype(complex) + 1j,
            lambda: Y.astype(str),
            lambda: [["a"] * m] * n,
            lambda: [[1.0, 2.0], [3.0]],
            lambda: pd.DataFrame(Y, columns=["a"] * m),
            lambda: pd.DataFrame({"when": pd.date_range("2020", periods=n), "b": Y[:, 0]}),
            lambda: pd.DataFrame({"name": ["x"] * n, "b": Y[:, 0]}),
            lambda: sparse.csr_array(np.nan_to_num(Y)),
            lambda: {"a": Y[:, 0], "b": Y[:, 1]},
            lambda: pd.Series(Y[:, 0]),
            lambda: np.array([[{}] * m] * n),
            lambda: np.array([[None] * m] * n),
            lambda: np.datetime64("2020-01-01") + np.zeros((n, m), dtype="timedelta64[D]"),
            self.strange,
        ]
        return self.one(make)()

    def kernel(self, size: int) -> Any:
        """Return a kernel matrix."""
        F = self.rng.normal(size=(size, self.rng.integers(1, size + 2)))
        K = F @ F.T / size + 0.1 * np.eye(size)
        quality = self.quality()
        if quality == "odd":
            make: list[Callable[[], Any]] = [
                lambda: np.eye(size),
                lambda: np.ones((size, size)),
                lambda: K * 1e150,
                lambda: K * 1e-150,
                lambda: K * 1e305,
                lambda: K.astype(np.float32),
                lambda: K.tolist(),
                lambda: pd.DataFrame(K),
                lambda: np.diag(np.r_[1.0, np.zeros(size - 1)]),
                lambda: K + 1e-13 * self.rng.normal(size=K.shape),
                lambda: np.round(K).astype(int) * 0 + np.eye(size, dtype=int),
                lambda: np.diag(10.0 ** self.rng.uniform(-20, 20, size)),
                lambda: F[:, :1] @ F[:, :1].T,
                lambda: _frozen(K),
                lambda: np.ma.masked_array(K, False),
            ]
            return self.one(make)()
        if quality == "bad":
            wrong = self.rng.normal(size=(size, size))
            make = [
                lambda: K[:-1, :-1],
                lambda: K[:-1],
                lambda: K[0],
                lambda: wrong,
                lambda: -K,
                lambda: np.zeros((size, size)),
                lambda: np.full((size, size), np.nan),
                lambda: np.where(np.eye(size) > 0, np.inf, K),
                lambda: K.astype(complex) * (1 + 1j),
                lambda: K.astype(str),
                lambda: np.array([["a"] * size] * size),
                lambda: sparse.csr_array(K),
                lambda: pd.DataFrame(K, index=list("zyxwvutsrqponmlk")[:size]),
                lambda: np.ma.masked_array(K, np.eye(size) > 0),
                self.strange,
            ]
            return self.one(make)()
        return K

    def covariates(self, size: int) -> Any:
        """Return covariates of nodes or observations."""
        values = self.rng.normal(size=(size, int(self.rng.integers(1, 4))))
        quality = self.quality()
        words = self.rng.choice(["red", "green", "blue"], size=size)
        if quality == "odd":
            make: list[Callable[[], Any]] = [
                lambda: values[:, 0],
                lambda: np.zeros((size, 2)),
                lambda: values * self.one([1e-200, 1e160, 1e200, 1e300]),
                lambda: pd.DataFrame({"colour": words, "size": values[:, 0]}),
                lambda: pd.DataFrame({"when": pd.date_range("2020", periods=size)}),
                lambda: pd.DataFrame({"colour": pd.Categorical(words)}),
                lambda: pd.DataFrame({"flag": values[:, 0] > 0}),
                lambda: pd.Series(values[:, 0]),
                lambda: values.tolist(),
                lambda: list(words),
                lambda: np.arange(size),
                lambda: np.array(["2020-01-01"] * size, dtype="datetime64[D]"),
                lambda: np.repeat(values[:1], size, axis=0),
                lambda: values[:, :1].astype(int),
                lambda: _frozen(values),
            ]
            return self.one(make)()
        if quality == "bad":
            make = [
                lambda: values[:-1],
                lambda: np.full(size, np.nan),
                lambda: np.where(np.arange(size) == 0, np.inf, values[:, 0]),
                lambda: values[None],
                lambda: values[:, :0],
                lambda: values.astype(complex) * 1j,
                lambda: pd.DataFrame({"a": [None] * size}),
                lambda: pd.DataFrame({"a": ["x", *[None] * (size - 1)]}),
                lambda: pd.DataFrame({"when": [pd.NaT] * size}),
                lambda: pd.DataFrame(values, index=self.rng.permutation(size)),
                lambda: np.array([{}] * size),
                lambda: sparse.csr_array(values),
                lambda: np.ma.masked_array(values, True),
                lambda: "index",
                self.strange,
            ]
            return self.one(make)()
        return values

    def weights(self, m: int) -> Any:
        """Return a weighted graph as a matrix or as a vector of edges."""
        upper = np.triu(self.rng.random((m, m)) * (self.rng.random((m, m)) < 0.5), 1)
        upper[0, 1] = 0.5
        W = upper + upper.T
        edges = W[np.triu_indices(m, 1)]
        quality = self.quality()
        if quality == "odd":
            make: list[Callable[[], Any]] = [
                lambda: edges,
                lambda: np.zeros((m, m)),
                lambda: W * 1e-300,
                lambda: W * 1e300,
                lambda: W.tolist(),
                lambda: sparse.csr_array(W),
                lambda: W.astype(np.float32),
                lambda: (W > 0).astype(int),
                lambda: W > 0,
                lambda: pd.DataFrame(W),
                lambda: W + np.eye(m),
                lambda: np.where(W > 0, W, 1e-9),
                lambda: _frozen(W),
            ]
            return self.one(make)()
        if quality == "bad":
            make = [
                lambda: W[:-1],
                lambda: W[:-1, :-1],
                lambda: edges[:-1],
                lambda: -W,
                lambda: upper,
                lambda: np.where(W > 0, np.nan, W),
                lambda: np.where(W > 0, np.inf, W),
                lambda: W[None],
                lambda: W.astype(complex) * 1j,
                lambda: W.astype(str),
                lambda: np.diag(W.sum(0)) - W,
                lambda: sparse.csr_array(upper),
                lambda: sparse.csr_array(W[:-1]),
                self.strange,
            ]
            return self.one(make)()
        return edges if self.chance(0.3) else W

    def distances(self, m: int) -> Any:
        """Return distances between nodes."""
        points = self.rng.normal(size=(m, 2))
        Z = ((points[:, None] - points[None]) ** 2).sum(-1)
        quality = self.quality()
        if quality == "odd":
            scales = 10.0 ** self.rng.uniform(-6, 6, m)
            rate = self.rng.random((m, m))
            make: list[Callable[[], Any]] = [
                lambda: Z * self.one([1e-300, 1e-100, 1e100, 1e300]),
                lambda: np.zeros((m, m)),
                lambda: np.ones((m, m)),
                lambda: np.where((rate + rate.T < 0.5) & ~np.eye(m, dtype=bool), np.inf, Z),
                lambda: Z.tolist(),
                lambda: Z.astype(np.float32),
                lambda: np.round(Z).astype(int),
                lambda: Z * np.outer(scales, scales),
                lambda: pd.DataFrame(Z),
                lambda: _frozen(Z),
                lambda: np.where(np.eye(m) > 0, np.nan, Z),
            ]
            return self.one(make)()
        if quality == "bad":
            make = [
                lambda: Z[:-1],
                lambda: Z[0],
                lambda: Z[None],
                lambda: -Z,
                lambda: np.triu(Z),
                lambda: np.full((m, m), np.nan),
                lambda: np.full((m, m), np.inf),
                lambda: Z.astype(str),
                lambda: np.array([["a"] * m] * m),
                lambda: Z.astype(complex) * 1j,
                lambda: sparse.csr_array(Z),
                lambda: Z[:1, :1],
                lambda: np.ma.masked_array(Z, Z > 1),
                self.strange,
            ]
            return self.one(make)()
        return Z


def _frozen(values: Array) -> Array:
    """Return an array that cannot be written to."""
    values = values.copy()
    values.setflags(write=False)
    return values
