"""kgl.kernels: reading covariates, mixed covariates, and kernels on a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kernel_cases import L_RING, RING, X_NEW, X, finite, frame, smallest_relative_eigenvalue
from sklearn.metrics.pairwise import rbf_kernel

from kgl.kernels import (
    RBF,
    FunctionKernel,
    LaplacianKernel,
    Linear,
    Mixed,
)

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
