"""kgl.kernels: checks and decompositions of kernel matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kernel_cases import SPD, X, smallest_relative_eigenvalue

from kgl.kernels import (
    RBF,
    Linear,
    check_kernel,
    kernel_eigen,
    nearest_psd,
    normalize,
)

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


def test_tolerance_is_relative() -> None:
    check_kernel(np.diag([1e6, 1.0, -1e-3]), "K", 3)  # 1e-9 of the largest: rounding
    for size in (1e-20, 1.0, 1e20):
        check_kernel(size * np.array([[2.0, 1.0], [1.0 + 1e-9, 2.0]]), "K", 2)
        with pytest.raises(ValueError, match=r"K is not symmetric"):
            check_kernel(size * np.array([[2.0, 1.0], [1.0 + 1e-6, 2.0]]), "K", 2)
        with pytest.raises(ValueError, match=r"K is not positive semi-definite"):
            kernel_eigen(size * np.diag([1.0, -1e-3]), "K", 2)


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
    for function in (nearest_psd, normalize):
        function(K)
    check_kernel(K, "K", 12)
    eigen = kernel_eigen(K, "K", 12)
    eigen.vectors[...] = 0.0
    np.testing.assert_array_equal(K, SPD)


# ------------------------------------------------------------------------ nearest_psd, normalize


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


def test_normalize() -> None:
    K = normalize(SPD)
    root = np.sqrt(np.diag(SPD))
    np.testing.assert_allclose(K, SPD / np.outer(root, root), rtol=1e-13)
    np.testing.assert_array_equal(np.diag(K), 1.0)
    assert smallest_relative_eigenvalue(K) > 0
    np.testing.assert_array_equal(normalize(RBF()(X)), RBF()(X))
    with pytest.raises(ValueError, match=r"K\[1, 1\] = 0: .*positive diagonal; drop the item"):
        normalize(np.diag([1.0, 0.0]))
    with pytest.raises(ValueError, match=r"K is not positive semi-definite"):
        normalize([[1.0, 2.0], [2.0, 1.0]])
