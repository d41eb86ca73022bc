"""Compressed rows that depend on each other: Q'Y with the kernel diag(z), and white noise."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kgl
from kgl.kernels import RBF, Auto, LaplacianKernel, Linear, LowRank

N, M = 200, 8
RNG = np.random.default_rng(0)
TIMES = np.arange(float(N))
KERNEL = RBF(gamma=0.5 / 25.0**2)
K_Z = KERNEL(TIMES)
DATA = kgl.simulate.make_dataset("er", m=M, n=N, noise=0.0)
VALUES, VECTORS = np.linalg.eigh(K_Z)
TABLE = VECTORS * np.sqrt(np.maximum(VALUES, 0.0)) @ VECTORS.T @ DATA.Y
TABLE = (TABLE / TABLE.std() + 0.3 * RNG.normal(size=(N, M))) * np.logspace(-1, 1, M) + 3.0
FACTOR = np.stack([np.cos(TIMES * k / 40.0) / (1 + k) for k in range(6)], axis=1)
MODELS = (kgl.KGLO, kgl.KGL, kgl.KGLAgnostic)


def nodes(model: Any) -> dict[str, Any]:
    return {"K_x": DATA.K_x} if model._spec.node_kernel else {}


def agree(model: Any, small: Any, K_z: Any, tol: float, **options: Any) -> None:
    """Compare fits: the psi found for the density, the graph, the signals and the objective."""
    whole = model(average=True, **options).fit(TABLE, K_z=K_z, **nodes(model))
    fitted = model(average=True, **options).fit(small, **nodes(model))
    assert fitted.psi_ == pytest.approx(whole.psi_, rel=tol)
    apart = np.abs(whole.weights_ - fitted.weights_).max() / whole.weights_.max()
    assert apart < tol
    assert fitted.objective_ == pytest.approx(whole.objective_, rel=tol)
    signals = np.concatenate(list(small.signals(fitted, TABLE, chunk_rows=64)))
    assert np.abs(signals - whole.signals_).max() < tol * np.abs(TABLE).max()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("center", ["node", "both", "none"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_given_factors(model, center):
    for white, scale in itertools.product((0.0, 0.2), ("node", "common")):
        small = kgl.compress(TABLE, factor_z=FACTOR, white=white, chunk_rows=37)
        K_z = FACTOR @ FACTOR.T + white * np.eye(N)
        agree(model, small, K_z, 1e-8, center=center, scale=scale, lam=0.01)


@pytest.mark.parametrize("model", MODELS)
def test_kernels_of_covariates(model):
    agree(model, kgl.compress(TABLE, z=TIMES, kernel_z=KERNEL), K_Z, 2e-3)
    tight = kgl.compress(TABLE, z=TIMES, kernel_z=KERNEL, kernel_tol=1e-13, white=0.1)
    agree(model, tight, K_Z + 0.1 * np.eye(N), 1e-9)
    agree(model, kgl.compress(TABLE, K_z=K_Z, white=0.1), K_Z + 0.1 * np.eye(N), 1e-9)


@pytest.mark.parametrize("white", [0.0, 0.1])
def test_kernels_over_nodes_that_learn_from_the_rows(white):
    x = np.random.default_rng(1).normal(size=(M, 2))
    whole = kgl.KGL().fit(TABLE, x=x, K_z=FACTOR @ FACTOR.T + white * np.eye(N))
    fitted = kgl.KGL().fit(kgl.compress(TABLE, factor_z=FACTOR, white=white), x=x)
    assert fitted.psi_ == pytest.approx(whole.psi_, rel=1e-6)
    assert np.abs(whole.weights_ - fitted.weights_).max() < 1e-6 * whole.weights_.max()


def test_logarithms_and_negative_edges():
    growth = np.exp(2.0 * (TABLE - 3.0) / TABLE.std(axis=0))
    small = kgl.compress(growth, factor_z=FACTOR, white=0.1)
    whole = kgl.KGLO().fit(growth, K_z=FACTOR @ FACTOR.T + 0.1 * np.eye(N))
    fitted = kgl.KGLO().fit(small)
    assert whole._logs
    assert np.abs(whole.weights_ - fitted.weights_).max() < 1e-8 * whole.weights_.max()
    signals = np.concatenate(list(small.signals(fitted, growth)))
    assert np.allclose(signals, whole.signals_, rtol=1e-6, atol=1e-6)
    assert "by logarithms" in repr(small)


def test_specs_that_need_no_matrix():
    frame = pd.DataFrame({"t": TIMES, "u": np.sin(TIMES)})
    for spec in (Linear(bias=1.0, scale="standard"), LowRank(), RBF(gamma=0.01, scale="standard")):
        small = kgl.compress(TABLE, z=frame, kernel_z=spec, white=0.1)
        agree(kgl.KGLO, small, spec(frame) + 0.1 * np.eye(N), 1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_new_rows(model):
    new = np.array([10.5, 100.25, 210.0])
    small = kgl.compress(TABLE, z=TIMES, kernel_z=KERNEL, kernel_tol=1e-13, white=0.1)
    whole = model(lam=0.01).fit(TABLE, K_z=K_Z + 0.1 * np.eye(N), **nodes(model))
    fitted = model(lam=0.01, psi=whole.psi_).fit(small, **nodes(model))
    cross = np.exp(-KERNEL.gamma * (new[:, None] - TIMES) ** 2)
    expected = whole.predict(K_z=cross)
    assert np.allclose(fitted.predict(K_z=small.cross(new)), expected, rtol=1e-5, atol=1e-4)
    both = model(lam=0.01, center="both").fit(small, **nodes(model))
    assert both.predict(K_z=small.cross(new)).shape == (3, M)
    own = kgl.compress(TABLE, factor_z=FACTOR)
    again = model(lam=0.01, psi=1e-3).fit(own, **nodes(model))
    (signals,) = own.signals(again, TABLE)
    assert np.allclose(again.predict(K_z=own.cross(FACTOR[:5])), signals[:5], atol=1e-6)
    with pytest.raises(ValueError, match=r"pass K_z=small.cross"):
        fitted.predict(z=new)


@pytest.mark.parametrize(
    ("side", "message"),
    [
        ({"z": TIMES}, "z needs kernel_z"),
        ({"kernel_z": KERNEL}, "kernel_z belongs to"),
        ({"white": 1.0}, "white belongs to"),
        ({"z": TIMES, "kernel_z": KERNEL, "factor_z": FACTOR}, "z and factor_z both"),
        ({"factor_z": FACTOR, "kernel_z": KERNEL}, "factor_z was given; give z"),
        ({"z": TIMES[:-1], "kernel_z": KERNEL}, r"z has 199 row\(s\) but data has 200"),
        ({"factor_z": FACTOR[:-1]}, r"factor_z has 199 row\(s\)"),
        ({"factor_z": np.zeros((N, 2))}, "not zero throughout"),
        ({"factor_z": FACTOR, "white": -1.0}, "white = -1.0"),
        ({"K_z": np.eye(N)}, "identity"),
        ({"z": TIMES, "kernel_z": Auto()}, "learns its widths from the rows"),
        ({"z": TIMES, "kernel_z": RBF(gamma=10.0), "max_rank": 50}, "not low rank"),
        ({"z": TIMES, "kernel_z": KERNEL, "kernel_tol": 0.0}, "kernel_tol"),
    ],
)
def test_bad_kernels(side, message):
    with pytest.raises(ValueError, match=message):
        kgl.compress(TABLE, **side)


@pytest.mark.parametrize("kernel", [RBF(gamma=10.0), LaplacianKernel(np.eye(2) - 0.5)])
def test_kernels_without_a_factor_name_what_there_is(kernel):
    with pytest.raises(ValueError, match="fit a piece of the table") as caught:
        kgl.compress(TABLE, z=TIMES, kernel_z=kernel, max_rank=50)
    assert "solver" not in str(caught.value)


def test_rows_and_kernel_must_agree_in_number():
    for size in (N - 1, N + 1):
        pieces = iter(np.array_split(np.resize(TABLE, (size, M)), 3))
        with pytest.raises(ValueError, match="kernel over the rows is of 200 rows"):
            kgl.compress(pieces, factor_z=FACTOR)


def test_models_and_arguments_that_do_not_go_with_it():
    small = kgl.compress(TABLE, factor_z=FACTOR)
    for model in (kgl.GL, kgl.GL2Step, kgl.KGLN):
        with pytest.raises(ValueError, match="has no kernel over the observations"):
            model().fit(small)
    with pytest.raises(ValueError, match=r"rows, which are compressed|z belongs to"):
        kgl.KGL().fit(small, z=TIMES)
    with pytest.raises(ValueError, match="K_z is a kernel over the rows"):
        kgl.KGL().fit(small, K_z=K_Z)
    with pytest.raises(ValueError, match="independent, so new rows"):
        kgl.compress(TABLE).cross(TIMES)
    model = kgl.KGLO().fit(small)
    with pytest.raises(ValueError, match="fitted to other data"):
        next(kgl.compress(TABLE[:50]).signals(model, TABLE))
    with pytest.raises(ValueError, match="data has 100 rows"):
        list(small.signals(model, TABLE[:100]))
    longer = np.concatenate([TABLE, TABLE])
    with pytest.raises(ValueError, match="data has 400 rows, but 200 were compressed"):
        small.signals(model, longer)
    for size in (150, 200, 400):  # of an iterator the length is not known
        with pytest.raises(ValueError, match="data has more than 200 rows"):
            list(small.signals(model, iter([longer]), chunk_rows=size))
