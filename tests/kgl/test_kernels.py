"""kgl.kernels: contracts of every spec, numeric kernels and names; values against scikit-learn."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kernel_cases import L_RING, SPD, X_NEW, X, finite, frame, smallest_relative_eigenvalue
from sklearn.gaussian_process.kernels import Matern
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, rbf_kernel
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from kgl.kernels import (
    BANDWIDTH_RULES,
    KERNELS,
    RBF,
    FittedKernel,
    FunctionKernel,
    Kernel,
    LaplacianKernel,
    Linear,
    Mixed,
    Precomputed,
    as_kernel,
    kernel_eigen,
)

SPECS: dict[str, tuple[Kernel, Any]] = {
    "rbf": (RBF(), X),
    "rbf-gamma": (RBF(gamma=0.3), X),
    "rbf-standard": (RBF(bandwidth="median_sq", scale="standard"), X),
    "rbf-minmax": (RBF(scale="minmax"), X),
    "rbf-1d": (RBF(), X[:, 0]),
    "rbf-list": (RBF(), [0, 1, 3]),
    "rbf-frame": (RBF(), frame()[["price", "age", "moved"]]),
    "rbf-series": (RBF(), frame()["age"]),
    "linear": (Linear(), X),
    "linear-bias": (Linear(bias=2.0, scale="standard"), X),
    "mixed-frame": (Mixed(), frame()),
    "mixed-mean": (Mixed(combine="mean", theta=0.2), frame()),
    "mixed-named": (Mixed(numeric=["age"], categorical=["style", "group"]), frame()),
    "mixed-object": (Mixed(), frame().to_numpy(dtype=object)),
    "mixed-numbers": (Mixed(), X),
    "mixed-strings": (Mixed(), ["a", "b", "a"]),
    "mixed-theta0": (Mixed(theta=0), frame()),
    "mixed-linear": (Mixed(kernel=Linear(bias=1.0)), frame()),
    "resolvent": (LaplacianKernel(L_RING, alpha=3.0), np.arange(8)),
    "diffusion": (LaplacianKernel(L_RING, kind="diffusion", t=0.5), [3, 1, 1, 7]),
    "pinv": (LaplacianKernel(L_RING, kind="pinv"), np.arange(8)),
    "function": (FunctionKernel(Matern(nu=1.5)), X),
    "function-scaled": (FunctionKernel(laplacian_kernel, scale="standard"), X),
    "precomputed": (Precomputed(), SPD),
}
every_spec = pytest.mark.parametrize(("spec", "data"), SPECS.values(), ids=SPECS.keys())


# --------------------------------------------------------------------- contract of every spec


@every_spec
def test_contract(spec: Kernel, data: Any) -> None:
    fitted = spec.fit(data)
    assert isinstance(fitted, FittedKernel)
    K = fitted.matrix
    assert K.dtype == np.float64
    assert K.shape == (len(data), len(data))
    np.testing.assert_allclose(K, K.T, rtol=0, atol=1e-14 * abs(K).max())
    assert smallest_relative_eigenvalue(K) > -1e-12
    np.testing.assert_allclose(fitted.cross(data), K, rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(spec(data), K)
    assert fitted.spec == spec


@every_spec
def test_input_is_not_changed(spec: Kernel, data: Any) -> None:
    before = copy.deepcopy(data)
    fitted = spec.fit(data)
    fitted.cross(data)
    fitted.matrix[...] = -1.0  # what is returned shares no memory with what came in
    if isinstance(data, (pd.DataFrame, pd.Series)):
        assert before.equals(data)
    else:
        np.testing.assert_array_equal(before, data)


@every_spec
def test_specs_pickle_compare_and_are_frozen(spec: Kernel, data: Any) -> None:
    twin = pickle.loads(pickle.dumps(spec))
    assert twin == spec
    assert copy.deepcopy(spec) == spec
    assert spec != object()
    with pytest.raises(AttributeError):
        spec.scale = "standard"  # type: ignore[attr-defined]
    fitted = pickle.loads(pickle.dumps(spec.fit(data)))
    np.testing.assert_array_equal(fitted.cross(data), spec.fit(data).cross(data))


@settings(max_examples=60, deadline=None)
@given(
    data=hnp.arrays(float, st.tuples(st.integers(2, 9), st.integers(1, 4)), elements=finite),
    bandwidth=st.sampled_from(sorted(BANDWIDTH_RULES)),
    scale=st.sampled_from([None, "standard", "minmax"]),
    bias=st.floats(0, 10),
)
def test_numeric_kernels_are_psd(data: np.ndarray, bandwidth: str, scale: Any, bias: float) -> None:
    assert smallest_relative_eigenvalue(Linear(bias, scale)(data)) > -1e-12
    spread = np.ptp(data, axis=0)
    assume(spread.max() > 1e-6)
    fitted = RBF(bandwidth=bandwidth, scale=scale).fit(data)
    assert smallest_relative_eigenvalue(fitted.matrix) > -1e-12
    np.testing.assert_array_equal(np.diag(fitted.matrix), 1.0)
    np.testing.assert_array_equal(fitted.matrix, fitted.matrix.T)
    np.testing.assert_allclose(fitted.cross(data), fitted.matrix, rtol=1e-12)


@every_spec
def test_kernel_eigen_rebuilds_the_kernel(spec: Kernel, data: Any) -> None:
    K = spec(data)
    eigen = kernel_eigen(K, "K_x", len(K))
    assert eigen.size == len(K)
    assert eigen.vectors.shape == (len(K), eigen.rank)
    assert (eigen.values > 0).all()
    assert (np.diff(eigen.values) <= 0).all()
    np.testing.assert_allclose(eigen.vectors.T @ eigen.vectors, np.eye(eigen.rank), atol=1e-12)
    np.testing.assert_allclose(eigen.matrix, K, atol=1e-12 * abs(K).max())
    assert eigen.is_identity == np.array_equal(K, np.eye(len(K)))


# ----------------------------------------------------------------------------------------- RBF


@pytest.mark.parametrize("scale", [None, "standard", "minmax"])
def test_rbf_and_linear_against_sklearn(scale: Any) -> None:
    scaler = {None: None, "standard": StandardScaler(), "minmax": MinMaxScaler()}[scale]
    A, B = (X, X_NEW) if scaler is None else (scaler.fit_transform(X), scaler.transform(X_NEW))
    rbf = RBF(gamma=0.7, scale=scale).fit(X)
    np.testing.assert_allclose(rbf.matrix, rbf_kernel(A, gamma=0.7), rtol=1e-12)
    np.testing.assert_allclose(rbf.cross(X_NEW), rbf_kernel(B, A, gamma=0.7), rtol=1e-12)
    linear = Linear(bias=0.5, scale=scale).fit(X)
    np.testing.assert_allclose(linear.matrix, linear_kernel(A) + 0.5, rtol=1e-12)
    np.testing.assert_allclose(linear.cross(X_NEW), linear_kernel(B, A) + 0.5, rtol=1e-12)


@pytest.mark.parametrize(
    ("rule", "gamma"),
    [
        # points 0, 1, 3, 7: distances 1 2 3 4 6 7, squared 1 4 9 16 36 49
        ("median_distance", 1 / 3.5),
        ("median_sq", 1 / 12.5),
        ("median_sq_half", 1 / 25),
        ("median_distance_half", 1 / 7),
        ("unit", 1.0),
    ],
)
def test_bandwidth_rules_by_hand(rule: str, gamma: float) -> None:
    fitted = RBF(bandwidth=rule).fit([0, 1, 3, 7])
    assert fitted.gamma_ == pytest.approx(gamma, rel=1e-14)
    assert fitted.matrix[0, 2] == pytest.approx(np.exp(-9 * gamma), rel=1e-14)
    assert BANDWIDTH_RULES[rule](np.array([1.0, 3, 7, 2, 6, 4])) == pytest.approx(gamma)
    assert fitted.cross([3])[0, 0] == pytest.approx(np.exp(-9 * gamma), rel=1e-14)


def test_the_nearest_rule_is_free_of_units_and_equals_the_median_rule_for_unit_steps() -> None:
    steps = np.arange(30.0)
    rule = RBF(bandwidth="median_nearest")
    np.testing.assert_allclose(rule(steps), RBF()(steps), rtol=1e-12)
    np.testing.assert_allclose(rule(1000 * steps), rule(steps), rtol=1e-12)
    points = np.array([0.0, 1.0, 4.0])  # distances 1, 4, 3; nearest 1, 1, 3
    assert rule.fit(points).gamma_ == pytest.approx(1 / (3 * 1))


def test_bandwidth_falls_back_to_the_mean_of_positive_distances() -> None:
    tied = [0, 0, 0, 0, 2, 6]  # six zeros, four twos, one four, four sixes: no fallback
    assert RBF().fit(tied).gamma_ == 1 / 2
    tied = [0, 0, 0, 0, 0, 2]  # ten zeros and five twos
    assert RBF().fit(tied).gamma_ == 1 / 2
    assert RBF(bandwidth="median_sq").fit(tied).gamma_ == 1 / 4
    tied = [0] * 10 + [2, 6]  # 45 zeros; ten twos, ten sixes and one four
    assert RBF().fit(tied).gamma_ == pytest.approx(1 / 4)
    assert RBF(bandwidth="median_sq_half").fit(tied).gamma_ == pytest.approx(
        1 / (2 * (10 * 4 + 10 * 36 + 16) / 21)
    )


@pytest.mark.parametrize("rule", [name for name in BANDWIDTH_RULES if name != "unit"])
@pytest.mark.parametrize("data", [np.full(5, 3.0), [[1.0, 2.0]]])
def test_equal_covariates_have_no_bandwidth(rule: str, data: Any) -> None:
    with pytest.raises(ValueError, match=r"all covariate rows are equal.*RBF\(gamma=1\.0\)"):
        RBF(bandwidth=rule).fit(data)


def test_constant_column_is_left_alone_by_scaling() -> None:
    data = np.column_stack([X[:, 0], np.full(12, 0.1)])
    for scale in ("standard", "minmax"):
        np.testing.assert_allclose(
            RBF(scale=scale)(data), RBF(scale=scale)(data[:, :1]), rtol=1e-12
        )


def test_rounding_of_a_constant_column_is_not_scaled_up() -> None:
    constant = np.full(3, 0.1)
    assert 0 < constant.std() < 1e-16  # computed, not exactly 0: dividing by it would give O(1)
    assert abs(Linear(scale="standard")(constant)).max() < 1e-30
    fitted = RBF(gamma=1.0, scale="standard").fit(constant)
    np.testing.assert_allclose(fitted.cross([1.1]), np.exp(-1.0), rtol=1e-14)


@pytest.mark.parametrize("size", [1e200, 1e-320])
def test_bandwidth_out_of_floating_point_range(size: float) -> None:
    with (
        np.errstate(over="ignore", divide="ignore"),
        pytest.raises(ValueError, match=r"(rescale them|all covariate rows are equal)"),
    ):
        RBF().fit([0.0, size])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"gamma": 0}, ValueError, r"gamma must be finite and > 0, got 0; .*median_sq"),
        ({"gamma": -1.5}, ValueError, r"gamma .* > 0, got -1\.5"),
        ({"gamma": np.inf}, ValueError, r"gamma .* got inf"),
        ({"gamma": np.nan}, ValueError, r"gamma .* got nan"),
        ({"gamma": "median_sq"}, TypeError, r"number, got 'median_sq'; for a rule use bandwidth="),
        ({"gamma": True}, TypeError, r"gamma must be a number, got True"),
        ({"gamma": [1.0]}, TypeError, r"gamma must be a number, got \[1\.0\]"),
        ({"gamma": np.ones(1)}, TypeError, r"gamma must be a number"),
        (
            {"bandwidth": "silverman"},
            ValueError,
            r"unknown bandwidth rule 'silverman': choose one of 'median_distance', 'median_sq'",
        ),
        ({"bandwidth": 3}, ValueError, r"unknown bandwidth rule 3"),
        (
            {"scale": "z"},
            ValueError,
            r"unknown scale 'z': choose one of None, 'standard', 'minmax'",
        ),
    ],
)
def test_rbf_parameter_errors(options: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        RBF(**options)


def test_other_parameter_errors() -> None:
    with pytest.raises(ValueError, match=r"bias .* >= 0, got -1; .*indefinite"):
        Linear(bias=-1)
    with pytest.raises(ValueError, match=r"unknown scale 'z'"):
        Linear(scale="z")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"theta .* between 0 and 1, got 1\.5; .*indefinite"):
        Mixed(theta=1.5)
    with pytest.raises(ValueError, match=r"theta .* between 0 and 1, got -0\.1"):
        Mixed(theta=-0.1)
    with pytest.raises(ValueError, match=r"unknown combine 'sum': choose one of 'product', 'mean'"):
        Mixed(combine="sum")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"function must be callable, got 3"):
        FunctionKernel(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"unknown scale 'z'"):
        FunctionKernel(rbf_kernel, scale="z")  # type: ignore[arg-type]


# ------------------------------------------------------------------- precomputed and functions


def test_precomputed() -> None:
    fitted = Precomputed().fit(SPD)
    np.testing.assert_array_equal(fitted.matrix, SPD)
    assert not np.shares_memory(fitted.matrix, SPD)
    new = np.ones((2, 12))
    assert not np.shares_memory(fitted.cross(new), new)
    with pytest.raises(ValueError, match=r"shape \(2, 3\) but \(n_new, 12\) .*cross-kernel here"):
        fitted.cross(np.ones((2, 3)))
    new[1, 4] = np.nan
    with pytest.raises(ValueError, match=r"cross-kernel is nan at \[1, 4\]"):
        fitted.cross(new)
    with pytest.raises(ValueError, match=r"the precomputed kernel must be a square .* 12 x 3"):
        Precomputed().fit(X)


def indefinite(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return -np.asarray(rbf_kernel(A, B))


def test_function_kernel() -> None:
    fitted = FunctionKernel(Matern(nu=2.5)).fit(X)
    np.testing.assert_allclose(fitted.matrix, Matern(nu=2.5)(X), rtol=1e-12)
    np.testing.assert_allclose(fitted.cross(X_NEW), Matern(nu=2.5)(X_NEW, X), rtol=1e-12)
    with pytest.raises(ValueError, match=r"<function indefinite .*> is not positive semi-definite"):
        FunctionKernel(indefinite).fit(X)
    with pytest.raises(ValueError, match=r"is 3 x 3 but 12 x 12 is needed"):
        FunctionKernel(lambda A, B: A.T @ B).fit(X)
    with pytest.raises(ValueError, match=r"shape \(12, 5\) but \(n_new, 12\).*one row per row"):
        FunctionKernel(lambda A, B: rbf_kernel(B, A)).fit(X).cross(X_NEW)


# ------------------------------------------------------------------------------------- as_kernel


def test_as_kernel() -> None:
    assert as_kernel("rbf") == RBF()
    assert as_kernel("RBF", bandwidth="unit") == RBF(bandwidth="unit")
    assert as_kernel("linear") == Linear()
    assert as_kernel("mixed", theta=0.1) == Mixed(theta=0.1)
    assert as_kernel("precomputed") == Precomputed()
    assert as_kernel("laplacian", L=L_RING) == LaplacianKernel(L_RING)
    spec = RBF(gamma=3.0)
    assert as_kernel(spec) is spec
    assert as_kernel(rbf_kernel) == FunctionKernel(rbf_kernel)
    names = {"auto", "laplacian", "linear", "low-rank", "mixed", "precomputed", "rbf"}
    assert set(KERNELS) == names


@pytest.mark.parametrize(
    ("spec", "options", "error", "message"),
    [
        (
            "rbff",
            {},
            ValueError,
            r"unknown kernel 'rbff': choose one of 'auto', 'laplacian', 'linear', 'low-rank', "
            r"'mixed', 'precomputed', 'rbf'",
        ),
        ("laplacian", {}, TypeError, r"'laplacian' needs a graph: pass LaplacianKernel\(L\)"),
        ("rbf", {"width": 1}, TypeError, r"width"),
        (RBF(), {"gamma": 1}, TypeError, r"options \['gamma'\] go with a kernel name"),
        (RBF, {}, TypeError, r"got the class RBF: pass an instance, RBF\(\)"),
        (np.eye(3), {}, TypeError, r"'rbf'.* got ndarray: .*Precomputed\(\)"),
        (None, {}, TypeError, r"got NoneType"),
    ],
)
def test_as_kernel_errors(spec: Any, options: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        as_kernel(spec, **options)
