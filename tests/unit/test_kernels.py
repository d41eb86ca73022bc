"""kgl.kernels: values against scikit-learn and closed forms, contracts of every spec, errors."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
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
    check_kernel,
    kernel_eigen,
    nearest_psd,
    normalise,
)

RNG = np.random.default_rng(7)
X = RNG.normal(size=(12, 3))
X_NEW = RNG.normal(size=(5, 3))
RING = np.roll(np.eye(8), 1, axis=1) + np.roll(np.eye(8), -1, axis=1)
L_RING = 2.0 * np.eye(8) - RING
SPD = X @ X.T + np.eye(12)


def frame() -> pd.DataFrame:
    """Every dtype a covariate may have; 'row' is what a user may want ignored."""
    return pd.DataFrame(
        {
            "price": [1.0, 2.5, 3.0, 2.0, 1.5, 4.0],
            "style": ["maki", "nigiri", "maki", "maki", "nigiri", "nigiri"],
            "age": pd.array([1, 3, 2, 5, 4, 0], dtype="Int64"),
            "group": pd.Categorical([0, 1, 2, 0, 1, 2]),
            "moved": [True, False, True, True, False, False],
            "region": pd.array(["e", "w", "e", "w", "e", "w"], dtype="string"),
        }
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


def smallest_relative_eigenvalue(K: np.ndarray) -> float:
    values = np.linalg.eigvalsh(K)
    return float(values[0] / max(abs(values).max(), np.finfo(float).tiny))


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


def test_specs_hash_and_differ() -> None:
    assert RBF(gamma=1) == RBF(gamma=1.0)
    assert hash(RBF(gamma=1)) == hash(RBF(gamma=1.0))
    assert RBF() != RBF(bandwidth="median_sq")
    assert len({RBF(), Linear(), Precomputed()}) == 3
    assert len({LaplacianKernel(L_RING), LaplacianKernel(L_RING.copy(), alpha=1.0)}) == 1
    assert LaplacianKernel(L_RING) != LaplacianKernel(2 * L_RING)
    assert LaplacianKernel(L_RING) != LaplacianKernel(L_RING, nodes=list("abcdefgh"))
    assert Mixed(numeric=["a"]) == Mixed(numeric=("a",)) == Mixed(numeric="a")
    assert hash(Mixed(categorical=["a"])) == hash(Mixed(categorical="a"))
    assert repr(LaplacianKernel(L_RING)) == (
        "LaplacianKernel(<8 nodes>, kind='resolvent', alpha=1.0)"
    )
    assert "matrix" not in repr(RBF().fit(X))


finite = st.floats(-1e3, 1e3, allow_subnormal=False)


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


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(finite, st.sampled_from("abc"), st.booleans(), st.integers(0, 3)),
        min_size=2,
        max_size=9,
    ),
    theta=st.floats(0, 1),
    combine=st.sampled_from(["product", "mean"]),
)
def test_mixed_is_psd(rows: list[tuple[Any, ...]], theta: float, combine: Any) -> None:
    data = pd.DataFrame(rows, columns=["u", "v", "w", "k"])
    spec = Mixed(categorical=["v", "w", "k"], theta=theta, combine=combine, kernel=RBF(gamma=1))
    fitted = spec.fit(data)
    assert smallest_relative_eigenvalue(fitted.matrix) > -1e-12
    np.testing.assert_array_equal(fitted.matrix, fitted.matrix.T)
    np.testing.assert_allclose(np.diag(fitted.matrix), 1.0)
    np.testing.assert_array_equal(fitted.cross(data), fitted.matrix)


@settings(max_examples=60, deadline=None)
@given(
    upper=hnp.arrays(float, (6, 6), elements=st.sampled_from([0.0, 0.0, 0.1, 1.0, 30.0])),
    strength=st.floats(1e-3, 1e3),
)
def test_laplacian_kernels_are_psd(upper: np.ndarray, strength: float) -> None:
    W = np.triu(upper, 1) + np.triu(upper, 1).T
    L = np.diag(W.sum(axis=0)) - W
    truth = {
        "resolvent": (np.linalg.inv(np.eye(6) + strength * L), {"alpha": strength}),
        "diffusion": (scipy.linalg.expm(-strength * L), {"t": strength}),
        "pinv": (np.linalg.pinv(L, hermitian=True), {}),
    }
    for kind, (expected, options) in truth.items():
        K = LaplacianKernel.from_adjacency(W, kind=kind, **options)(None)
        assert smallest_relative_eigenvalue(K) > -1e-12
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_allclose(K, expected, atol=1e-9 * max(1.0, abs(expected).max()))


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


def test_rbf_keeps_precision_far_from_the_origin() -> None:
    # ||x||^2 + ||y||^2 - 2 x.y would lose every digit here.
    time = np.arange(5.0)
    np.testing.assert_array_equal(RBF()(time + 1e12), RBF()(time))


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


def test_bandwidth_rules_are_all_tested_and_default_is_the_median_distance() -> None:
    assert set(BANDWIDTH_RULES) == {
        "median_distance",
        "median_sq",
        "median_sq_half",
        "median_distance_half",
        "unit",
    }
    assert RBF().bandwidth == "median_distance"


def test_paper_time_stamps() -> None:
    """design.md, 5: over 100 time stamps the literal rule leaves about 8 usable directions."""

    def usable(spec: Kernel) -> int:
        values = np.linalg.eigvalsh(spec(np.arange(100)))
        return int((values > 1e-2).sum())

    # 100 - d pairs are at distance d: 2465 of the 4950 at most 29, 2535 at most 30.
    assert RBF().fit(np.arange(100)).gamma_ == 1 / 30
    assert usable(RBF(bandwidth="median_sq")) <= 10
    assert usable(RBF()) >= 25


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


def test_equal_covariates_with_a_fixed_gamma() -> None:
    for spec in (RBF(gamma=2.0), RBF(bandwidth="unit"), RBF(gamma=1, scale="standard")):
        np.testing.assert_array_equal(spec(np.full(4, 0.1)), np.ones((4, 4)))


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


def test_scaling_is_fitted_on_training_covariates_only() -> None:
    fitted = RBF(gamma=1.0, scale="standard").fit([0.0, 2.0])  # mean 1, deviation 1
    np.testing.assert_allclose(fitted.cross([5.0]), np.exp([[-25.0, -9.0]]))


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


# ---------------------------------------------------------------------------- reading covariates


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ([[1.0, 2.0], [np.nan, 1.0]], ValueError, r"X, column 0 is nan in row 1.*impute"),
        ([1.0, np.inf], ValueError, r"X, column 0 is inf in row 1: .*finite"),
        (np.ones((2, 2, 2)), ValueError, r"X has 3 dimensions: .*one row per item"),
        (3.0, ValueError, r"X has 0 dimensions"),
        (np.ones((3, 0)), ValueError, r"X has no columns"),
        ([], ValueError, r"X has no rows"),
        (["a", "b"], TypeError, r"column 0 holds 'a' \(row 0\), .*kgl\.kernels\.Mixed"),
        (frame(), TypeError, r"column 'style' holds 'maki' \(row 0\), .*kgl\.kernels\.Mixed"),
        (np.array([1j, 2]), TypeError, r"column 0 is complex"),
        (scipy.sparse.eye(3), TypeError, r"sparse .*X\.toarray\(\)"),
        (pd.date_range("2020-01-01", periods=3), TypeError, r"dates or durations: .*days"),
        (
            pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}),
            ValueError,
            r"column 'a' is nan in row 1",
        ),
        (pd.DataFrame({"a": [1.0, None]}, dtype=object), ValueError, r"column 'a' is nan in row 1"),
        (
            pd.DataFrame(np.ones((2, 2)), columns=["a", "a"]),
            ValueError,
            r"two columns named 'a': rename or drop one",
        ),
    ],
)
def test_covariate_errors(data: Any, error: type, message: str) -> None:
    for spec in (RBF(gamma=1.0), Linear(), FunctionKernel(rbf_kernel)):
        with pytest.raises(error, match=message):
            spec.fit(data)


def test_new_covariates_are_matched_by_name_then_by_position() -> None:
    data = pd.DataFrame(X, columns=["a", "b", "c"])
    fitted = RBF().fit(data)
    np.testing.assert_array_equal(fitted.matrix, RBF()(X))
    expected = fitted.cross(X_NEW)
    new = pd.DataFrame(X_NEW, columns=["a", "b", "c"]).assign(extra="text")
    np.testing.assert_array_equal(fitted.cross(new[["c", "extra", "b", "a"]]), expected)
    np.testing.assert_array_equal(RBF().fit(X).cross(new[["a", "b", "c"]]), expected)
    with pytest.raises(ValueError, match=r"X_new lacks column 'b'.*pass the columns \['a', 'b'"):
        fitted.cross(new[["a", "c"]])
    with pytest.raises(ValueError, match=r"X_new has 1 column\(s\) but .* fitted on 3: .*reshape"):
        fitted.cross(X_NEW[0])
    with pytest.raises(ValueError, match=r"X_new, column 1 is nan in row 0"):
        fitted.cross([[0.0, np.nan, 1.0]])
    with pytest.raises(ValueError, match=r"X_new has no rows"):
        fitted.cross(np.empty((0, 3)))


def test_a_series_is_one_unnamed_column() -> None:
    height = pd.Series([1.0, 2.0, 4.0], name="height")
    fitted = RBF().fit(height)
    np.testing.assert_array_equal(fitted.matrix, RBF()([1.0, 2.0, 4.0]))
    np.testing.assert_array_equal(fitted.cross(pd.Series([1.0])), fitted.matrix[:1])


# ---------------------------------------------------------------------------------------- Mixed


def overlap(column: Any, theta: float) -> np.ndarray:
    values = np.asarray(column, dtype=object)
    return np.where(values[:, None] == values[None, :], 1.0, theta)


@pytest.mark.parametrize("theta", [0.0, 0.3, 1.0])
def test_mixed_formula(theta: float) -> None:
    data = frame()
    numeric = data[["price", "age"]].to_numpy(dtype=float)
    rbf = RBF(scale="standard")(numeric)
    overlaps = [overlap(data[c], theta) for c in ("style", "group", "moved", "region")]
    product = Mixed(theta=theta).fit(data)
    assert product.numeric_ == (0, 2)
    assert product.categorical_ == (1, 3, 4, 5)
    np.testing.assert_allclose(product.matrix, rbf * np.prod(overlaps, axis=0), rtol=1e-14)
    assert product.kernel_ is not None
    np.testing.assert_array_equal(product.kernel_.matrix, rbf)
    mean = Mixed(theta=theta, combine="mean")(data)
    np.testing.assert_allclose(mean, (2 * rbf + np.sum(overlaps, axis=0)) / 6, rtol=1e-14)


def test_mixed_columns_by_name_position_and_remainder() -> None:
    data = frame()
    by_name = Mixed(numeric=["price"], categorical=["style", "age"])(data)
    np.testing.assert_array_equal(by_name, Mixed(numeric=0, categorical=[1, 2])(data))
    np.testing.assert_array_equal(
        by_name, Mixed(numeric=0, categorical=np.array([1, 2]))(data.to_numpy(dtype=object))
    )
    rest_numeric = Mixed(categorical="group").fit(data[["price", "group", "age"]])
    assert (rest_numeric.numeric_, rest_numeric.categorical_) == ((0, 2), (1,))
    rest_categorical = Mixed(numeric="price").fit(data)
    assert rest_categorical.categorical_ == (1, 2, 3, 4, 5)
    # An integer that is a column name is that column, not a position.
    swapped = pd.DataFrame({1: [0.0, 1.0, 5.0], 0: [1, 2, 1]})
    assert Mixed(categorical=0).fit(swapped).categorical_ == (1,)


def test_mixed_infers_kinds() -> None:
    assert Mixed().fit(frame().to_numpy(dtype=object)).categorical_ == (1, 4, 5)
    assert Mixed().fit(X).categorical_ == ()
    assert Mixed().fit(X > 0).numeric_ == ()
    assert Mixed().fit([["a", 1.0], ["b", 2.0]]).numeric_ == (1,)
    assert Mixed().fit(frame()["group"]).categorical_ == (0,)
    old_strings = frame().astype({"style": object})
    assert Mixed().fit(old_strings).categorical_ == (1, 3, 4, 5)


def test_mixed_without_one_kind() -> None:
    np.testing.assert_array_equal(Mixed()(X), RBF(scale="standard")(X))
    np.testing.assert_allclose(Mixed(combine="mean")(X), RBF(scale="standard")(X), rtol=1e-14)
    for combine in ("product", "mean"):
        K = Mixed(combine=combine, theta=0.25)(["a", "b", "a"])
        np.testing.assert_array_equal(K, [[1, 0.25, 1], [0.25, 1, 0.25], [1, 0.25, 1]])


def test_mixed_kernel_may_be_named() -> None:
    assert Mixed(kernel="linear") == Mixed(kernel=Linear())
    with pytest.raises(ValueError, match=r"unknown kernel 'rbff'"):
        Mixed(kernel="rbff")


def test_unseen_categories_are_different() -> None:
    fitted = Mixed(theta=0.5, kernel=RBF(gamma=1.0)).fit(frame())
    new = frame().iloc[:1].assign(style="gunkan", region="north")
    np.testing.assert_allclose(fitted.cross(new)[0, 0], fitted.matrix[0, 0] * 0.25, rtol=1e-14)
    only = Mixed(theta=0.1).fit(["a", "b"])
    np.testing.assert_array_equal(only.cross(["c", "b"]), [[0.1, 0.1], [0.1, 1.0]])


def test_mixed_new_covariates_by_name() -> None:
    fitted = Mixed(numeric=["price"], categorical=["style"]).fit(frame())
    new = frame()[["style", "price"]].iloc[::-1]  # the ignored columns need not be there
    np.testing.assert_array_equal(fitted.cross(new), fitted.matrix[::-1])
    with pytest.raises(ValueError, match=r"X_new lacks column 'style'"):
        fitted.cross(frame()[["price"]])
    with pytest.raises(ValueError, match=r"X_new has 2 column\(s\) but .* fitted on 6"):
        fitted.cross([["maki", 1.0]])


@pytest.mark.parametrize(
    ("options", "data", "error", "message"),
    [
        ({"numeric": "cost"}, frame(), ValueError, r"numeric column 'cost' .*\['price', 'style'"),
        ({"categorical": [9]}, X, ValueError, r"categorical column 9 .*positions 0 to 2"),
        ({"categorical": [-1]}, X, ValueError, r"categorical column -1 .*positions 0 to 2"),
        ({"categorical": "a"}, X, ValueError, r"column 'a' .*X has no column names"),
        ({"numeric": 0, "categorical": "price"}, frame(), ValueError, r"'price' is listed as num"),
        ({"numeric": [], "categorical": []}, frame(), ValueError, r"both empty: name at least one"),
        ({"numeric": ["style"]}, frame(), TypeError, r"X, column 'style' holds 'maki'"),
        ({}, ["a", None], ValueError, r"column 0 is missing in row 1: .*'missing'"),
        ({}, pd.DataFrame({"a": ["u", pd.NA]}), ValueError, r"column 'a' is missing in row 1"),
        ({"categorical": 0}, [1.0, np.nan], ValueError, r"column 0 is missing in row 1"),
        ({}, pd.DataFrame({"a": [[1], [2]]}), TypeError, r"holds \[1\] \(row 0\), which cannot"),
        ({}, pd.DataFrame({"a": [1.0, 1.0], "b": ["u", "v"]}), ValueError, r"rows are equal"),
    ],
)
def test_mixed_errors(options: dict[str, Any], data: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        Mixed(**options).fit(data)


def test_mixed_column_list_errors() -> None:
    with pytest.raises(TypeError, match=r"numeric holds True: .*np\.flatnonzero"):
        Mixed(numeric=[True, False])
    with pytest.raises(ValueError, match=r"categorical lists column 'a' twice"):
        Mixed(categorical=["a", "b", "a"])


# ------------------------------------------------------------------------------------- Laplacian


def test_ring_closed_form() -> None:
    """Eigenvalues of the ring of 8 are 2 - 2 cos(2 pi k / 8), its eigenvectors Fourier modes."""
    k = np.arange(8)
    eigenvalues = 2 - 2 * np.cos(2 * np.pi * k / 8)
    inverse = np.divide(1, eigenvalues, out=np.zeros(8), where=k > 0)
    cases: list[tuple[dict[str, Any], np.ndarray]] = [
        ({"alpha": 100.0}, 1 / (1 + 100 * eigenvalues)),
        ({"kind": "diffusion", "t": 0.3}, np.exp(-0.3 * eigenvalues)),
        ({"kind": "pinv"}, inverse),
    ]
    for options, response in cases:
        row = np.real(np.fft.ifft(response))
        K = LaplacianKernel(L_RING, **options)(None)
        np.testing.assert_allclose(K, scipy.linalg.circulant(row), atol=1e-14)


def test_pinv_of_a_disconnected_graph() -> None:
    L = scipy.linalg.block_diag([[1, -1], [-1, 1]], [[2, -2], [-2, 2]], [[0]])
    np.testing.assert_allclose(LaplacianKernel(L, kind="pinv")(None), np.linalg.pinv(L), atol=1e-15)


def test_covariates_of_a_laplacian_kernel_are_nodes() -> None:
    spec = LaplacianKernel(L_RING, alpha=2.0)
    full = spec.fit().matrix
    fitted = spec.fit([5, 0, 5])
    np.testing.assert_array_equal(fitted.matrix, full[np.ix_([5, 0, 5], [5, 0, 5])])
    np.testing.assert_array_equal(
        fitted.cross(np.array([[1.0], [2.0]])), full[[1, 2]][:, [5, 0, 5]]
    )
    np.testing.assert_array_equal(fitted.indices_, [5, 0, 5])


def test_laplacian_kernel_with_labels() -> None:
    full = LaplacianKernel(L_RING)(None)
    labels = list("abcdefgh")
    named = LaplacianKernel(L_RING, nodes=labels)
    framed = LaplacianKernel(pd.DataFrame(L_RING, index=labels, columns=labels))
    weights = LaplacianKernel.from_adjacency(pd.DataFrame(RING, index=labels, columns=labels))
    assert named == framed == weights
    np.testing.assert_array_equal(named.fit(["c", "a"]).cross(["h"]), full[[7]][:, [2, 0]])
    with pytest.raises(ValueError, match=r"X holds 'z', .* 8 nodes \('a' \.\.\. 'h'\).*RBF"):
        named.fit(["z"])


def test_laplacian_sparse_and_adjacency_agree() -> None:
    dense = LaplacianKernel(L_RING, kind="diffusion", t=2.0)
    assert LaplacianKernel(scipy.sparse.csr_array(L_RING), kind="diffusion", t=2.0) == dense
    assert LaplacianKernel.from_adjacency(RING, kind="diffusion", t=2.0) == dense
    sparse = scipy.sparse.csr_array(RING)
    assert LaplacianKernel.from_adjacency(sparse, kind="diffusion", t=2.0) == dense


def test_laplacian_spec_keeps_its_own_copy() -> None:
    L = L_RING.copy()
    spec = LaplacianKernel(L)
    L[0, 0] = 99.0
    assert spec == LaplacianKernel(L_RING)
    with pytest.raises(ValueError, match="read-only"):
        spec.L[0, 0] = 1.0


@pytest.mark.parametrize(
    ("L", "options", "message"),
    [
        (RING, {}, r"L\[0, 1\] = 1 > 0; .*from_adjacency\(W\)"),
        (2 * np.eye(8) + L_RING, {}, r"row 0 sums to 2 instead of 0; .*combinatorial"),
        (L_RING / 2 + np.triu(L_RING, 1), {}, r"L is not symmetric: .*\(L \+ L\.T\) / 2"),
        ([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], {}, r"L\[0, 2\] = 1 > 0; off-diagonal .* <= 0"),
        (np.ones((2, 3)), {}, r"L must be a square matrix but is 2 x 3"),
        ([[np.nan]], {}, r"L is not finite: L\[0, 0\] = nan"),
        (
            L_RING,
            {"kind": "heat"},
            r"unknown kind .*'heat': choose one of 'resolvent', 'diffusion'",
        ),
        (L_RING, {"alpha": 0}, r"alpha must be finite and > 0, got 0"),
        (L_RING, {"kind": "diffusion", "t": -1.0}, r"t must be finite and > 0, got -1\.0"),
        (L_RING, {"t": 1.0}, r"t = 1\.0 has no meaning for kind='resolvent': .*'diffusion'"),
        (L_RING, {"kind": "pinv", "alpha": 2}, r"alpha = 2 has no meaning for kind='pinv'"),
        (L_RING, {"nodes": ["a"]}, r"nodes has 1 labels but L has 8 nodes"),
        (L_RING, {"nodes": list("aabcdefg")}, r"two nodes are labelled 'a'"),
        (
            pd.DataFrame([[1, -1], [-1, 1]], index=["a", "b"], columns=["b", "a"]),
            {},
            r"rows and columns of L are labelled differently: use L\.loc\[L\.columns\]",
        ),
    ],
)
def test_laplacian_errors(L: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LaplacianKernel(L, **options)


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (L_RING, r"W\[0, 0\] = 2: .*zero diagonal; remove self-loops"),
        (-RING, r"W\[0, 1\] = -1: edge weights must be >= 0; .*LaplacianKernel\(L\)"),
        (np.triu(RING), r"W is not symmetric: .*\(W \+ W\.T\) / 2"),
    ],
)
def test_adjacency_errors(W: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LaplacianKernel.from_adjacency(W)


@pytest.mark.parametrize("node", [8, -1, 0.5, "a", True])
def test_unknown_nodes(node: Any) -> None:
    fitted = LaplacianKernel(L_RING).fit()
    with pytest.raises(ValueError, match=rf"X_new holds {node!r}, .* 8 nodes \(0 \.\.\. 7\)"):
        fitted.cross([node])


def test_nodes_are_one_column() -> None:
    with pytest.raises(ValueError, match=r"X has 3 columns: .*are nodes, one per row"):
        LaplacianKernel(L_RING).fit(X)


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
    assert set(KERNELS) == {"laplacian", "linear", "mixed", "precomputed", "rbf"}


@pytest.mark.parametrize(
    ("spec", "options", "error", "message"),
    [
        (
            "rbff",
            {},
            ValueError,
            r"unknown kernel 'rbff': choose one of 'laplacian', 'linear', 'mixed', 'precomputed', "
            r"'rbf'",
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


# ------------------------------------------------------------------- check_kernel, kernel_eigen


def with_entry(i: int, j: int, value: float) -> np.ndarray:
    K = np.eye(4)
    K[i, j] = value
    return K


BAD_KERNELS = [
    (np.eye(5), ValueError, r"K_x is 5 x 5 but Y has 4 columns \(nodes\): pass one row"),
    (X, ValueError, r"K_x must be a square matrix but is 12 x 3: .*kgl\.kernels\.RBF\(\)\(X\)"),
    (np.ones(4), ValueError, r"K_x must be a square matrix but is 4: .*covariates"),
    (3.0, ValueError, r"K_x must be a square matrix but is a single number"),
    (with_entry(1, 2, np.nan), ValueError, r"K_x is not finite: K_x\[1, 2\] = nan; .*missing"),
    (with_entry(3, 0, np.inf), ValueError, r"K_x is not finite: K_x\[3, 0\] = inf"),
    (
        with_entry(1, 3, 0.25),
        ValueError,
        r"K_x is not symmetric: K_x\[1, 3\] = 0\.25 but K_x\[3, 1\] = 0 "
        r"\(largest asymmetry 0\.25\); .*\(K_x \+ K_x\.T\) / 2",
    ),
    (
        np.diag([2.0, 1.0, 1.0, -0.12345]),
        ValueError,
        r"K_x is not positive semi-definite: its smallest eigenvalue is -0\.12345 \(largest 2\); "
        r"add 0\.124 to the diagonal, or use kgl\.kernels\.nearest_psd\(K_x\)",
    ),
    (-np.eye(4), ValueError, r"smallest eigenvalue is -1 \(largest -1\); add 1 to the diagonal"),
    (np.eye(4) * 1j, TypeError, r"K_x must be a real matrix, got dtype complex128"),
    ([["a"] * 4] * 4, TypeError, r"K_x must be a real matrix, got dtype <U1: .*Mixed"),
    ({"a": 1}, TypeError, r"K_x must be a matrix of numbers, got dict: .*RBF"),
    (scipy.sparse.eye(4), TypeError, r"K_x is a sparse .*K_x\.toarray\(\)"),
]


@pytest.mark.parametrize(("K", "error", "message"), BAD_KERNELS)
def test_bad_kernels(K: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        check_kernel(K, "K_x", 4)
    with pytest.raises(error, match=message):
        kernel_eigen(K, "K_x", 4)


def test_bad_kernel_sizes_name_the_axis() -> None:
    with pytest.raises(ValueError, match=r"K_z is 3 x 3 but Y has 7 rows \(observations\): "):
        check_kernel(np.eye(3), "K_z", 7)
    with pytest.raises(ValueError, match=r"^K is 3 x 3 but 7 x 7 is needed"):
        kernel_eigen(np.eye(3), "K", 7)
    with pytest.raises(ValueError, match=r"K is empty"):
        check_kernel(np.empty((0, 0)), "K")


@settings(max_examples=40, deadline=None)
@given(hnp.arrays(float, (5, 5), elements=st.floats(-10, 10)))
def test_remedies_work(A: np.ndarray) -> None:
    """The advice of the error messages gives a kernel that passes."""
    K = (A + A.T) / 2
    values = np.linalg.eigvalsh(K)
    assume(values[0] < -1e-6 * abs(values).max() and abs(values).max() > 1e-3)
    with pytest.raises(ValueError, match="smallest eigenvalue") as caught:
        check_kernel(K, "K", 5)
    shift = float(str(caught.value).split("add ")[1].split(" to")[0])
    assert shift < 1.02 * -values[0]
    check_kernel(K + shift * np.eye(5), "K", 5)
    check_kernel(nearest_psd(K), "K", 5)


def test_check_kernel_returns_a_symmetric_float_copy() -> None:
    K = SPD.copy()
    K[0, 1] += 1e-12
    K.setflags(write=False)
    checked = check_kernel(K, "K_x", 12)
    np.testing.assert_array_equal(checked, checked.T)
    np.testing.assert_allclose(checked, SPD, atol=1e-12)
    assert checked.flags.writeable
    assert not np.shares_memory(check_kernel(SPD, "K_x"), SPD)
    assert check_kernel([[2, 1], [1, 2]], "K_x", 2).dtype == np.float64
    nullable = pd.DataFrame([[2, 1], [1, 2]], dtype="Int64")
    np.testing.assert_array_equal(check_kernel(nullable, "K_x", 2), [[2, 1], [1, 2]])


def test_numerically_singular_kernels_pass() -> None:
    K = RBF(bandwidth="median_sq")(np.linspace(0, 1, 200))
    assert np.linalg.eigvalsh(K)[0] < 0  # so that the test means something
    check_kernel(K, "K_z", 200)
    eigen = kernel_eigen(K, "K_z", 200)
    assert eigen.rank == np.linalg.matrix_rank(K, hermitian=True) < 30
    np.testing.assert_allclose(eigen.matrix, K, atol=1e-12)
    check_kernel(1e-200 * K, "K_z", 200)  # relative, so scale does not matter
    single = RBF(gamma=0.5)(np.linspace(0, 1, 200)).astype(np.float32)
    assert kernel_eigen(single, "K_z", 200).rank < 10  # noise of single precision is dropped


def test_tolerance_is_relative_and_adjustable() -> None:
    K = np.diag([1e6, 1.0, -1e-3])  # 1e-9 of the largest eigenvalue: rounding
    check_kernel(K, "K", 3)
    with pytest.raises(ValueError, match=r"-0\.001"):
        check_kernel(K, "K", 3, tol=1e-12)
    with pytest.raises(ValueError, match=r"-0\.001"):
        kernel_eigen(K, "K", 3, tol=1e-12)
    with pytest.raises(ValueError, match=r"-0\.001"):
        check_kernel(np.diag([1.0, -1e-3]), "K", 2)
    skew = np.array([[2.0, 1.0], [1.0 + 1e-9, 2.0]])
    for scale in (1e-20, 1.0, 1e20):
        check_kernel(scale * skew, "K", 2)
        with pytest.raises(ValueError, match=r"K is not symmetric"):
            check_kernel(scale * skew, "K", 2, tol=1e-12)


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


def test_kernel_eigen_rank() -> None:
    assert kernel_eigen(Linear()(X), "K_x", 12).rank == 3
    assert kernel_eigen(Linear(bias=1.0)(X), "K_x", 12).rank == 4
    K = np.diag([1.0, 1e-3, 1e-6, 1e-9])
    assert kernel_eigen(K, "K_x", 4).rank == 4
    eigen = kernel_eigen(K, "K_x", 4, rank_tol=1e-5)
    np.testing.assert_allclose(eigen.values, [1.0, 1e-3])
    assert kernel_eigen(K, "K_x", 4, rank_tol=1e-6 / 2).rank == 3
    for bad in (-1.0, 1.0, np.nan):
        with pytest.raises(ValueError, match=r"rank_tol"):
            kernel_eigen(K, "K_x", 4, rank_tol=bad)


def test_kernel_eigen_identity() -> None:
    for K in (None, np.eye(4), np.eye(4, dtype=int), np.eye(4).tolist()):
        eigen = kernel_eigen(K, "K_z", 4)
        assert eigen.is_identity
        assert eigen.rank == eigen.size == 4
        np.testing.assert_array_equal(eigen.values, np.ones(4))
        np.testing.assert_array_equal(eigen.vectors, np.eye(4))
    for K in (2 * np.eye(4), np.eye(4)[::-1][:, ::-1] + 1e-12, np.diag([1.0, 1, 1, 0])):
        assert not kernel_eigen(K, "K_z", 4).is_identity


def test_zero_kernel() -> None:
    with pytest.raises(ValueError, match=r"K_z is the zero matrix, .*: pass None \(the identity\)"):
        kernel_eigen(np.zeros((3, 3)), "K_z", 3)


def test_kernel_functions_do_not_change_their_input() -> None:
    K = SPD.copy()
    for function in (nearest_psd, normalise):
        function(K)
    check_kernel(K, "K", 12)
    eigen = kernel_eigen(K, "K", 12)
    eigen.vectors[...] = 0.0
    np.testing.assert_array_equal(K, SPD)


# ------------------------------------------------------------------------ nearest_psd, normalise


@settings(max_examples=40, deadline=None)
@given(
    hnp.arrays(float, (4, 4), elements=st.floats(-5, 5)),
    hnp.arrays(float, (4, 4), elements=st.floats(-5, 5)),
)
def test_nearest_psd_is_nearest(K: np.ndarray, B: np.ndarray) -> None:
    nearest = nearest_psd(K)
    np.testing.assert_array_equal(nearest, nearest.T)
    assert np.linalg.eigvalsh(nearest)[0] >= -1e-12
    # Projection on a convex cone: no semi-definite matrix is nearer.
    assert np.linalg.norm(K - nearest) <= np.linalg.norm(K - B @ B.T) + 1e-9
    np.testing.assert_allclose(nearest_psd(nearest), nearest, atol=1e-12)


def test_normalise() -> None:
    K = normalise(SPD)
    root = np.sqrt(np.diag(SPD))
    np.testing.assert_allclose(K, SPD / np.outer(root, root), rtol=1e-13)
    np.testing.assert_array_equal(np.diag(K), 1.0)
    assert smallest_relative_eigenvalue(K) > 0
    np.testing.assert_array_equal(normalise(RBF()(X)), RBF()(X))
    with pytest.raises(ValueError, match=r"K\[1, 1\] = 0: .*positive diagonal; drop the item"):
        normalise(np.diag([1.0, 0.0]))
    with pytest.raises(ValueError, match=r"K is not positive semi-definite"):
        normalise([[1.0, 2.0], [2.0, 1.0]])
