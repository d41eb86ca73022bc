"""Grids and folds on the workers of joblib: the same bytes, warnings and errors as without."""

import os
import warnings
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

import kgl
from kgl._parallel import in_order
from kgl.grid import fit_grid
from kgl.models import GL, KGL, KGLN, KGLO, GL2Step, KGLAgnostic
from kgl.selection import select_held_out

DATA = {
    "complete": kgl.simulate.make_dataset("er", m=9, n=14, dependent=True, seed=1),
    "masked": kgl.simulate.make_dataset("er", m=9, n=14, dependent=True, missing=0.3, seed=2),
}
ARRAYS = (
    "weights", "scores", "signs", "n_iter", "converged", "residual", "signals", "objective_parts",
)  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread():
    """Workers have one BLAS thread each, so what they are compared with has one too."""
    with threadpool_limits(limits=1):
        yield


def problem(model, data):
    """Kernels and axes that a model has."""
    side = {name: getattr(data, name) for name in ("K_x", "K_z")}
    used = {"K_x": model._spec.node_kernel, "K_z": model._spec.observation_kernel}
    axes: dict[str, Any] = {"lam": [1e-3, 0.1], "rho": [0.01, 0.5], "psi": [0.1, 1.0, 10.0]}
    names = model._spec.hyperparameters
    return {k: v for k, v in side.items() if used[k]} | {n: axes[n] for n in names}


def bytes_of(result):
    """Everything that a grid holds, as bytes."""
    found = {name: getattr(result, name) for name in ARRAYS}
    found |= {f"params {name}": values for name, values in result.params.items()}
    found |= {f"metrics {name}": values for name, values in result.metrics.items()}
    return {
        name: None if a is None else (str(a.dtype), a.shape, np.ascontiguousarray(a).tobytes())
        for name, a in found.items()
    }


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
@pytest.mark.parametrize("model", [GL, GL2Step, KGLN, KGLO, KGL, KGLAgnostic])
def test_the_bytes_do_not_depend_on_the_workers(model, data):
    given = {**problem(model, data), "signals": True, "objective": True, "chunk_size": 2}
    alone = fit_grid(model, data.Y, **given)
    assert bytes_of(fit_grid(model, data.Y, **given, n_jobs=2)) == bytes_of(alone)
    with joblib.parallel_backend("threading", n_jobs=3):
        assert bytes_of(fit_grid(model, data.Y, **given)) == bytes_of(alone)


def test_densities_signs_and_lists_of_kernels_too():
    data = DATA["masked"]
    given = {
        "lam": [0.01, 0.1], "rho": [0.1, 1.0], "density": [0.2, 0.5], "signals": True,
        "kernel_x": [kgl.kernels.RBF(gamma=0.5), kgl.kernels.RBF(gamma=2.0)],
        "x": np.random.default_rng(0).normal(size=(9, 2)),
    }  # fmt: skip
    alone = fit_grid(KGLN, data.Y, **given, signed=True)
    spread = fit_grid(KGLN, data.Y, **given, signed=True, n_jobs=2)
    kernels = alone.params.pop("kernel_x"), spread.params.pop("kernel_x")
    assert [k.gamma for k in kernels[0]] == [k.gamma for k in kernels[1]]
    assert bytes_of(spread) == bytes_of(alone)


def test_data_that_workers_share_through_files():
    # joblib hands arrays above a megabyte over as read-only memory maps
    rng = np.random.default_rng(3)
    Y = rng.normal(size=(5000, 30))
    Y[rng.random(Y.shape) < 0.1] = np.nan
    given: dict[str, Any] = {"lam": [0.1], "rho": [0.1], "psi": [1.0, 10.0], "chunk_size": 1}
    alone = fit_grid(KGLN, Y, **given, signals=True)
    assert bytes_of(fit_grid(KGLN, Y, **given, signals=True, n_jobs=2)) == bytes_of(alone)


def test_metrics_are_worked_out_in_the_workers_and_progress_counts():
    data = DATA["complete"]
    calls = []

    def evaluate(chunk):
        return {"edges": (chunk.weights > 0).sum(axis=1), "worker": [os.getpid()] * len(chunk)}

    found = fit_grid(
        KGL, data.Y, **problem(KGL, data), chunk_size=3, evaluate=evaluate, keep=False, n_jobs=2,
        progress=lambda done, total: calls.append((done, total)),
    )  # fmt: skip
    assert os.getpid() not in found.metrics["worker"]
    assert found.weights is None
    alone = fit_grid(KGL, data.Y, **problem(KGL, data))
    assert np.array_equal(found.metrics["edges"], (alone.weights > 0).sum(axis=1))
    assert calls == [(done, 12) for done in (3, 6, 9, 12)]


@pytest.mark.parametrize("graph", ["density", "stability"])
def test_folds_are_shared_too(graph):
    data = DATA["masked"]
    psi = {"psi": [0.1, 1.0, 10.0]} if graph == "stability" else {}
    given = {"K_x": data.K_x, "K_z": data.K_z, "n_folds": 3, "graph": graph, **psi}
    with warnings.catch_warnings(record=True) as before:
        warnings.simplefilter("always")
        alone = select_held_out(KGL, data.Y, **given)
    with warnings.catch_warnings(record=True) as after:
        warnings.simplefilter("always")
        spread = select_held_out(KGL, data.Y, **given, n_jobs=2)
    assert [str(w.message) for w in before] == [str(w.message) for w in after]
    assert spread.params == alone.params
    for name in ("mse", "mse_se", "instability"):
        first, second = getattr(alone, name), getattr(spread, name)
        assert (first is None and second is None) or first.tobytes() == second.tobytes()
    assert spread.estimator.weights_.tobytes() == alone.estimator.weights_.tobytes()


def _warns(part):
    warnings.warn(f"part {part} is poor", ConvergenceWarning, stacklevel=1)
    return part, [pool["num_threads"] for pool in threadpool_info()]


def test_warnings_of_workers_arrive_and_each_has_one_thread():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = list(in_order(_warns, [0, 1, 2], 2))
    assert [str(warning.message) for warning in caught] == [f"part {k} is poor" for k in range(3)]
    assert {warning.category for warning in caught} == {ConvergenceWarning}
    assert [part for part, _ in found] == [0, 1, 2]
    assert {count for _, counts in found for count in counts} <= {1}


def test_errors_of_workers_arrive():
    data = DATA["complete"]
    with pytest.raises(ValueError, match="return one value per point"):
        fit_grid(
            GL, data.Y, psi=[1.0, 2.0], chunk_size=1, n_jobs=2, evaluate=lambda _: {"one": [1, 2]}
        )


@pytest.mark.parametrize("wrong", [0, 2.5, "4", True])
def test_a_wrong_number_of_workers_is_named(wrong):
    with pytest.raises(ValueError, match=r"n_jobs = .* must be a number of workers such as 4"):
        fit_grid(GL, DATA["complete"].Y, n_jobs=wrong)
    with pytest.raises(ValueError, match=r"n_jobs = .* must be a number of workers such as 4"):
        select_held_out(KGL, DATA["complete"].Y, n_jobs=wrong)
