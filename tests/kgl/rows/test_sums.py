"""Sums made elsewhere, partial_fit, and folds of rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import kgl
from kgl.rows.sums import root

DATA = kgl.simulate.make_dataset("sbm", m=8, n=150, noise=0.2)
TABLE = DATA.Y * np.logspace(-1, 1, 8) + 5.0
NAMES = list("abcdefgh")
PIECES = [TABLE[:20], TABLE[20:21], TABLE[21:100], TABLE[100:]]


def apart(one: Any, other: Any) -> float:
    return float(np.abs(one.weights_ - other.weights_).max() / one.weights_.max())


# ------------------------------------------------------------------------------------------ sums


def test_sums_add_up():
    whole = kgl.GL().fit(TABLE)
    total = sum(kgl.RowSums.of(piece) for piece in PIECES)
    assert apart(whole, kgl.GL().fit(kgl.compress(total))) < 1e-11
    # as another engine would hand them in
    about = TABLE - 5.0
    given = kgl.RowSums(150, about.sum(axis=0), about.T @ about, origin=np.full(8, 5.0))
    assert apart(whole, kgl.GL().fit(kgl.compress(given))) < 1e-11
    plain = kgl.RowSums(150, TABLE.sum(axis=0), TABLE.T @ TABLE, names=NAMES)
    fitted = kgl.GL().fit(kgl.compress(plain))
    assert apart(whole, fitted) < 1e-9
    assert fitted.node_names_ == NAMES
    for center in ("none", "node", "both"):
        own = TABLE - (0 if center == "none" else TABLE.mean(axis=0))
        own = own - (own.mean(axis=1, keepdims=True) if center == "both" else 0)
        assert np.allclose(plain.gram(center), own.T @ own)


def test_sums_that_lost_their_digits_are_refused():
    far = TABLE + 1e7
    with pytest.raises(ValueError, match="column 0: its mean is so far from the origin"):
        kgl.compress(kgl.RowSums(150, far.sum(axis=0), far.T @ far))
    assert apart(kgl.GL().fit(far), kgl.GL().fit(kgl.compress(kgl.RowSums.of(far)))) < 1e-6


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_rows": 0}, "n_rows = 0"),
        ({"sums": np.ones(3)}, r"products \(m, m\)"),
        ({"products": np.full((8, 8), np.nan)}, r"products\[0, 0\] is not finite"),
        ({"products": np.triu(np.ones((8, 8)))}, "not symmetric"),
        ({"names": ["a"] * 8}, "duplicate"),
        ({"n_rows": True}, "n_rows = True"),
        ({"origin": ["a"] * 8}, "origin does not hold numbers"),
        ({"largest": ["a"] * 8}, "largest does not hold numbers"),
        ({"products": [[1.0, 2.0], [3.0]]}, "products does not hold numbers"),
    ],
)
def test_bad_sums(given, message):
    good = {"n_rows": 150, "sums": TABLE.sum(axis=0), "products": TABLE.T @ TABLE}
    with pytest.raises(ValueError, match=message):
        kgl.RowSums(**{**good, **given})


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_sums_that_no_rows_have_are_refused():
    with pytest.raises(ValueError, match=r"have the eigenvalue -4, .* give len\(Y\)"):
        kgl.RowSums(30, np.zeros(3), [[1, 5, 0], [5, 1, 0], [0, 0, 1]])
    with pytest.raises(ValueError, match="not those of any rows"):  # of other rows than the sums
        kgl.RowSums(150, TABLE.sum(axis=0), TABLE[:100].T @ TABLE[:100])
    rng = np.random.default_rng(0)
    for table in (
        TABLE[:1],
        TABLE[:3],  # fewer rows than columns
        np.repeat(TABLE[:, :1], 8, axis=1),
        TABLE * np.logspace(-150, 150, 8),
        np.where(np.arange(8) == 3, 0.1, TABLE),  # a constant column
        rng.normal(size=(40_000, 8)).astype(np.float32).cumsum(axis=1) + np.float32(10),
    ):
        kgl.RowSums.of(table)
        kgl.RowSums(len(table), table.sum(axis=0), table.T @ table)
    huge = kgl.RowSums(2, [0.0, 0.0], np.eye(2) * 1e308)
    with pytest.raises(ValueError, match="double precision"):
        huge + huge


def test_what_sums_cannot_do():
    own = kgl.RowSums.of(TABLE)
    refused = {"z": np.arange(150), "kernel_z": "rbf", "white": 2.0, "max_rank": 3}
    for name, value in {**refused, "kernel_tol": 1e-3}.items():
        with pytest.raises(ValueError, match=f"^{name} needs the rows"):
            kgl.compress(own, **{name: value})
    for parts, n_folds in (([own], 3), ([own] * 3, 2)):
        with pytest.raises(ValueError, match=f"n_folds = {n_folds}, but {len(parts)} RowSums"):
            kgl.compress(parts, n_folds=n_folds)
    assert kgl.compress([own] * 3, n_folds=3).n_folds == 3
    for given in (own, [own, own]):
        with pytest.raises(TypeError, match=r"pass kgl.compress\(Y\)"):
            kgl.GL().fit(given)
    with pytest.raises(TypeError, match=r"rows is a sparse csr_array; pass rows.toarray\(\)"):
        kgl.RowSums.of(sparse.csr_array(TABLE))
    with pytest.raises(ValueError, match="rows, a list, cannot be read"):
        kgl.RowSums.of([["a", "b"]])
    with pytest.raises(ValueError, match="log=True needs the rows"):
        kgl.compress(own, log=True)
    with pytest.raises(TypeError, match="something else"):
        kgl.compress([own, TABLE])
    with pytest.raises(ValueError, match="8 and of 7 columns"):
        own + kgl.RowSums.of(TABLE[:, :7])
    with pytest.raises(ValueError, match="not the same"):
        kgl.RowSums.of(TABLE, NAMES) + kgl.RowSums.of(TABLE, NAMES[::-1])
    with pytest.raises(ValueError, match=r"rows\[3, 2\] = nan"):
        kgl.RowSums.of(np.where(np.arange(150 * 8).reshape(150, 8) == 26, np.nan, TABLE))
    with pytest.raises(TypeError):
        own + 3


@pytest.mark.parametrize("rank", [1, 5, 12])
def test_roots(rank):
    rng = np.random.default_rng(rank)
    factor = rng.normal(size=(rank, 12)) * np.logspace(-6, 6, 12)
    gram = factor.T @ factor
    T = root(gram)
    assert len(T) == rank
    scale = np.sqrt(np.diag(gram))
    assert np.abs(T.T @ T - gram).max(initial=0, where=True) <= 1e-12 * scale.max() ** 2
    assert np.allclose(T.T @ T / scale / scale[:, None], gram / scale / scale[:, None], atol=1e-12)
    assert not root(np.zeros((3, 3))).any()


# ----------------------------------------------------------------------------------- partial_fit


@pytest.mark.parametrize("model", [kgl.GL, kgl.GL2Step, kgl.KGLN])
@pytest.mark.parametrize("growth", [False, True])
def test_partial_fit_is_fit_on_all_rows(model, growth):
    table = np.exp(TABLE - 5.0) if growth else TABLE
    side = {"K_x": DATA.K_x} if model is kgl.KGLN else {}
    streamed = model(average=True)
    for k, piece in enumerate(PIECES):
        rows = table[: len(piece)] if k == 0 else table[150 - len(piece) :]
        rows = table[sum(map(len, PIECES[:k])) :][: len(piece)]
        streamed.partial_fit(rows, refit=k > 1, **(side if k == 0 else {}))
    whole = model(average=True).fit(table, **side)
    assert apart(whole, streamed) < 1e-11
    assert streamed.objective_ == pytest.approx(whole.objective_, rel=1e-9)
    # a fit starts anew
    streamed.fit(table[:50], **side).partial_fit(table, **side)
    assert apart(whole, streamed) < 1e-11


def test_partial_fit_of_frames():
    frame = pd.DataFrame(TABLE, columns=NAMES)
    model = kgl.GL().partial_fit(frame[:70]).partial_fit(frame[70:])
    assert model.node_names_ == NAMES
    assert apart(kgl.GL().fit(frame), model) < 1e-11
    with pytest.raises(ValueError, match=r"feature names|columns"):
        model.partial_fit(frame[NAMES[::-1]])


def test_partial_fit_refuses_and_loses_nothing():
    model = kgl.KGLN().partial_fit(TABLE[:100], K_x=DATA.K_x)
    gap = TABLE[100:].copy()
    gap[7, 3] = np.nan
    with pytest.raises(
        ValueError, match=r"row 7 of this call \(row 107 of all\), column 3, is nan"
    ):
        model.partial_fit(gap)
    with pytest.raises(ValueError, match="7 features"):
        model.partial_fit(TABLE[100:, :7])
    with pytest.raises(TypeError, match="pass them to fit"):
        model.partial_fit(kgl.compress(TABLE))
    with pytest.raises(TypeError, match=r"kgl.compress\(total\) to fit"):
        model.partial_fit(kgl.RowSums.of(TABLE))
    with pytest.raises(ValueError, match="K_x"):  # found only by the fit itself
        model.partial_fit(TABLE[100:], K_x=np.eye(7))
    model.partial_fit(TABLE[100:])
    assert "150 observations" in model.summary()
    assert apart(kgl.KGLN().fit(TABLE, K_x=DATA.K_x), model) < 1e-11


def test_a_first_call_that_fails_adds_nothing():
    model = kgl.KGLN()
    with pytest.raises(ValueError, match="K_x"):
        model.partial_fit(TABLE[:100], K_x=np.eye(7))
    model.partial_fit(TABLE, K_x=DATA.K_x)
    assert apart(kgl.KGLN().fit(TABLE, K_x=DATA.K_x), model) < 1e-11


def test_logarithms_cannot_be_asked_for_after_the_first_rows():
    growth = np.exp(TABLE - 5.0)
    model = kgl.GL(log=False).partial_fit(growth[:70])
    with pytest.raises(ValueError, match="log = True, but 70 earlier rows"):
        model.set_params(log=True).partial_fit(growth[70:])
    model.set_params(log=False).partial_fit(growth[70:])
    assert apart(kgl.GL(log=False).fit(growth), model) < 1e-11
    # settings that sums suffice for may change, and logarithms may be left out
    model = kgl.GL().partial_fit(growth[:70]).set_params(log=True, center="both")
    assert apart(kgl.GL(log=True, center="both").fit(growth), model.partial_fit(growth[70:])) < 1e-9


@pytest.mark.parametrize("model", [kgl.KGLO, kgl.KGL, kgl.KGLAgnostic])
def test_models_without_partial_fit_say_why(model):
    assert not hasattr(model(), "partial_fit")
    with pytest.raises(AttributeError, match="kernel over the observations, which links all rows"):
        model().partial_fit(TABLE)


# ----------------------------------------------------------------------------------------- folds


def brute_force(fold: int, center: str, point: dict[str, float], units: Any) -> float:
    """Mean squared error of a fold: one graph, then entry by entry."""
    held = np.arange(150) % 5 == fold
    model = kgl.KGLN(**point, center=center, tol=2e-2, max_iter=8)
    model.fit(TABLE[~held], K_x=DATA.K_x)
    ready, (lam, rho) = model._ready.preparation, model._point
    P = np.linalg.inv(lam * np.linalg.inv(DATA.K_x) + rho * model.laplacian_)
    total = 0.0
    for row in TABLE[held]:
        for j in range(8):
            seen = np.arange(8) != j
            left = row - ready.columns
            own = left[seen].mean() if center == "both" else 0.0
            y = (left[seen] - own) / ready.scale[seen]
            weights = np.linalg.solve(P[np.ix_(seen, seen)] + np.eye(7), y)
            guess = P[j, seen] @ weights * ready.scale[j] + ready.columns[j] + own
            total += ((guess - row[j]) / units[j]) ** 2
    return total / (held.sum() * 8)


@pytest.mark.parametrize("center", ["node", "both", "none"])
def test_row_folds_are_those_of_entries_one_by_one(center):
    axes = {"lam": [0.05, 0.5], "rho": [0.1], "psi": [0.01]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = kgl.select_held_out(
            kgl.KGLN, kgl.compress(TABLE), K_x=DATA.K_x, **axes, graph="mse", center=center
        )
        units = kgl.KGLN(psi=1.0, center=center).fit(TABLE)._ready.preparation.scale
        for k in range(2):
            point = {name: float(values[k]) for name, values in found.grid_params.items()}
            errors = [brute_force(fold, center, point, units) for fold in range(5)]
            assert found.mse[k] == pytest.approx(np.mean(errors), rel=1e-8)
            assert found.mse_se[k] == pytest.approx(np.std(errors, ddof=1) / 5**0.5, rel=1e-6)
    assert found.estimator.psi_ == 0.01


@pytest.mark.parametrize("graph", ["density", "stability"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_row_folds_set_psi(graph):
    psi = [1e-3, 1e-2, 1e-1] if graph == "stability" else None
    small = kgl.compress(TABLE, n_folds=3)
    found = kgl.select_held_out(
        kgl.KGLN, small, K_x=DATA.K_x, lam=[0.1], rho=[0.1], psi=psi, graph=graph
    )
    again = kgl.KGLN(lam=0.1, rho=0.1, psi=found.params["psi"]).fit(TABLE, K_x=DATA.K_x)
    assert apart(again, found.estimator) < 1e-9


def test_sums_of_folds_are_folds():
    parts = [kgl.RowSums.of(TABLE[k::5]) for k in range(5)]
    axes: dict[str, Any] = {"lam": [0.1], "rho": [0.1], "psi": [0.01], "graph": "mse"}
    handed = kgl.select_held_out(kgl.KGLN, kgl.compress(parts), K_x=DATA.K_x, **axes)
    own = kgl.select_held_out(kgl.KGLN, kgl.compress(TABLE), K_x=DATA.K_x, **axes)
    assert np.allclose(handed.mse, own.mse, rtol=1e-10)


def test_folds_that_mean_nothing_are_refused():
    small = kgl.compress(TABLE)
    with pytest.raises(ValueError, match="names entries to hide"):
        kgl.select_held_out(kgl.KGLN, small, folds="random")
    with pytest.raises(ValueError, match="n_folds = 4, but"):
        kgl.select_held_out(kgl.KGLN, small, n_folds=4)
    with pytest.raises(ValueError, match="without folds"):
        kgl.select_held_out(kgl.KGLN, kgl.compress(TABLE, n_folds=1))
    with pytest.raises(ValueError, match="GL predicts nothing"):
        kgl.select_held_out(kgl.GL, small)
    dependent = kgl.compress(TABLE, z=np.arange(150.0), kernel_z=kgl.kernels.RBF(gamma=1e-3))
    with pytest.raises(ValueError, match="mixture of all rows"):
        kgl.select_held_out(kgl.KGLO, dependent)
