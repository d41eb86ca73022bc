"""The six estimators: every public name, and what each number they return means.

Each test recomputes what a fit claims from the formula it stands for, with NumPy alone.
"""

from __future__ import annotations

import warnings
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from helpers import low_rank_kernel, n_edges, random_mask
from scipy.spatial.distance import pdist, squareform
from sklearn.exceptions import ConvergenceWarning

from kgl import GL, KGL, KGLN, KGLO, GL2Step, KGLAgnostic, kernels, learn_laplacian
from kgl._types import Array
from kgl.models import GraphLearner

MODELS = (GL, GL2Step, KGLN, KGLO, KGL, KGLAgnostic)
NODE_SIDE = (KGLN, KGL)
OBSERVATION_SIDE = (KGLO, KGL, KGLAgnostic)
N, M = 14, 6
WEIGHTS = {"lam": 0.3, "rho": 0.2, "psi": 0.5}
#: No preparation: formulas are compared with the data as they are.
RAW: dict[str, Any] = {"center": "none", "scale": "none", "log": False, "signed": False}

every_model = pytest.mark.parametrize("model", MODELS)
full_and_masked = pytest.mark.parametrize("missing", [0.0, 0.4], ids=["full", "masked"])


def signals(missing: float = 0.0, seed: int = 0, n: int = N, m: int = M) -> Array:
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((n, m)) + rng.standard_normal((n, 1))
    return np.where(random_mask(n, m, missing, rng), Y, np.nan) if missing else Y


def kernel(size: int, seed: int, rank: int | None = None) -> Array:
    """A kernel with eigenvalues between 0.5 and about 4, or of low rank."""
    rng = np.random.default_rng(seed)
    if rank is not None:
        return low_rank_kernel(size, rank, rng)
    return low_rank_kernel(size, size, rng) + 0.5 * np.eye(size)


K_X, K_Z = kernel(M, 1), kernel(N, 2)


def sides(model: type[GraphLearner], K_x: Array = K_X, K_z: Array = K_Z) -> dict[str, Array]:
    """What the model can use of the side information."""
    known = {"K_x": (K_x, NODE_SIDE), "K_z": (K_z, OBSERVATION_SIDE)}
    return {name: K for name, (K, models) in known.items() if model in models}


def build(model: type[GraphLearner], **settings: Any) -> GraphLearner:
    """An estimator with those of the usual weights that it has, solved far."""
    fields = model().get_params()
    usual = {name: value for name, value in WEIGHTS.items() if name in fields}
    if {"density", "average_degree"} & settings.keys():
        del usual["psi"]
    return model(**{**usual, **RAW, "tol": 1e-9, "max_iter": 1000, **settings})


def objective(
    model: GraphLearner, Y: Array, side: dict[str, Array], fitted: Array, penalty: Any = 0.0
) -> dict[str, float]:
    """The paper's objective, literally: kernels inverted, traces of products."""
    n, m = Y.shape
    kind = type(model)
    lam, rho, psi = (getattr(model, name, 0.0) for name in ("lam", "rho", "psi"))
    if kind is GL:
        rho = 1.0
    if model.average:
        rho = rho / n
    Kx_inv = np.linalg.inv(side.get("K_x", np.eye(m)))
    Kz_inv = np.linalg.inv(side.get("K_z", np.eye(n)))
    L, W = model.laplacian_, model.weights_
    whitener = np.eye(n) if kind is KGLAgnostic else Kz_inv
    seen = ~np.isnan(Y)
    if kind in (GL, GL2Step):  # these take gaps for zeros
        Y, seen = np.where(seen, Y, 0.0), np.ones_like(seen)
    if model.regularizer == "frobenius":
        graph = psi * np.linalg.norm(L) ** 2
    else:
        graph = psi * np.linalg.norm(W) ** 2 - model.barrier * np.log(np.diag(L)).sum()
    return {
        "fit": float(np.sum((Y - fitted)[seen] ** 2)),
        "ridge": float(lam * np.trace(Kz_inv @ fitted @ Kx_inv @ fitted.T)),
        "smoothness": float(rho * np.trace(whitener @ fitted @ L @ fitted.T)),
        "graph": float(graph + 0.5 * np.sum(W * penalty)),
    }


# ------------------------------------------------------------------------------ public names


@every_model
def test_laplacian_weights_and_scores_belong_together(model: type[GraphLearner]) -> None:
    fit = build(model).fit(signals(), **sides(model))
    W, L, scores = fit.weights_, fit.laplacian_, fit.edge_scores_
    assert np.array_equal(W, W.T)
    assert np.all(W >= 0)
    assert np.array_equal(L - np.diag(np.diag(L)), -W)
    assert np.allclose(L.sum(axis=1), 0.0, atol=1e-12)
    assert np.trace(L) == pytest.approx(M, rel=1e-12)
    rows, cols = np.triu_indices(M, 1)
    on = W[rows, cols] > 0
    assert 0 < on.sum() < len(on)
    assert np.allclose(scores[rows, cols][on], W[rows, cols][on], rtol=1e-12)
    assert np.all(scores[rows, cols][~on] <= 0)
    assert np.all(np.isfinite(scores[rows, cols]))
    assert fit.kkt_residual_ < 1e-10


def test_learn_laplacian_beats_every_other_laplacian() -> None:
    rng = np.random.default_rng(3)
    Z = squareform(rng.random(10))
    L = learn_laplacian(Z, psi=0.2)

    def value(w: Array) -> float:
        W = squareform(w)
        return float(0.5 * np.sum(Z * W) + 0.2 * np.linalg.norm(np.diag(W.sum(axis=1)) - W) ** 2)

    best = value(squareform(np.diag(np.diag(L)) - L))
    others = rng.dirichlet(np.full(10, 0.3), size=200) * 5 / 2
    assert min(map(value, others)) > best
    # two nodes have one graph
    assert learn_laplacian([[0.0, 7.0], [7.0, 0.0]], 1.0) == pytest.approx(
        np.array([[1.0, -1.0], [-1.0, 1.0]])
    )


def test_learn_laplacian_keeps_to_the_pairs_it_may_use() -> None:
    Z = np.full((4, 4), np.inf)
    for i, j in ((0, 1), (1, 2), (2, 3)):
        Z[i, j] = Z[j, i] = 1.0
    L = learn_laplacian(Z, psi=1.0)
    assert n_edges(np.where(np.eye(4), 0.0, L)) == 3
    assert L[0, 3] == L[0, 2] == L[1, 3] == 0.0
    barrier = learn_laplacian(Z, psi=1.0, regularizer="log-degree", barrier=2.0)
    assert np.diag(barrier).min() > 0


# --------------------------------------------------------------------------------- objective


@every_model
@full_and_masked
@pytest.mark.parametrize(
    "settings",
    [{}, {"average": True}, {"regularizer": "log-degree", "barrier": 0.7}],
    ids=["plain", "average", "log-degree"],
)
def test_objective_is_the_formula(
    model: type[GraphLearner], missing: float, settings: dict[str, Any]
) -> None:
    Y, side = signals(missing), sides(model)
    penalty = np.abs(np.random.default_rng(5).standard_normal((M, M)))
    penalty += penalty.T
    fit = build(model, edge_penalty=penalty, **settings).fit(Y, **side)
    literal = objective(fit, Y, side, fit.signals_, penalty)
    assert fit.objective_parts_ == pytest.approx(literal, rel=1e-7, abs=1e-12)
    assert fit.objective_ == pytest.approx(sum(literal.values()), rel=1e-8)
    assert fit.objective_history_[-1] == fit.objective_
    steps = np.diff(fit.objective_history_)
    assert np.all(steps <= 1e-9 * abs(fit.objective_))


@pytest.mark.parametrize("model", [m for m in MODELS if m is not GL])
@full_and_masked
def test_no_other_signals_and_no_other_graph_are_better(
    model: type[GraphLearner], missing: float
) -> None:
    Y, side = signals(missing), sides(model)
    fit = build(model).fit(Y, **side)
    rng = np.random.default_rng(6)
    for scale in (1e-3, 1e-1):
        for _ in range(10):
            other = fit.signals_ + scale * rng.standard_normal(Y.shape)
            assert sum(objective(fit, Y, side, other).values()) > fit.objective_
    best = fit.weights_
    for _ in range(10):
        W = 0.9 * best + 0.1 * squareform(rng.dirichlet(np.full(15, 0.3)) * M / 2)
        fit.weights_, fit.laplacian_ = W, np.diag(W.sum(axis=1)) - W
        assert sum(objective(fit, Y, side, fit.signals_).values()) > fit.objective_


@every_model
@full_and_masked
@pytest.mark.parametrize("singular", [False, True], ids=["invertible", "singular"])
@pytest.mark.parametrize("average", [False, True], ids=["total", "average"])
def test_coefficients_give_the_signals(
    model: type[GraphLearner], missing: float, singular: bool, average: bool
) -> None:
    rank_x, rank_z = (3, 5) if singular else (None, None)
    side = sides(model, kernel(M, 3, rank_x), kernel(N, 4, rank_z))
    Y = signals(missing)
    fit = build(model, average=average).fit(Y, **side)
    A = fit.coefficients()
    product = side.get("K_z", np.eye(N)) @ A @ side.get("K_x", np.eye(M))
    assert product == pytest.approx(fit.signals_, abs=1e-8)
    if model in (GL, GL2Step):
        return
    # the objective in A, as the paper writes it: no inverse anywhere
    K_x, K_z, L = side.get("K_x", np.eye(M)), side.get("K_z", np.eye(N)), fit.laplacian_
    lam, rho = WEIGHTS["lam"], WEIGHTS["rho"] / (N if average else 1)
    ridge = lam * np.trace(K_z @ A @ K_x @ A.T)
    D = K_z if model is KGLAgnostic else np.eye(N)
    smoothness = rho * np.trace(K_z @ D @ A @ K_x @ L @ K_x @ A.T)
    assert fit.objective_parts_["ridge"] == pytest.approx(ridge, rel=1e-7)
    assert fit.objective_parts_["smoothness"] == pytest.approx(smoothness, rel=1e-7)
    # its gradient in A is K_z (what is zero here) K_x: the solution off the kernels' ranges too
    residuals = np.nan_to_num(Y - fit.signals_)
    assert lam * A + rho * D @ A @ K_x @ L == pytest.approx(residuals, abs=1e-7)


# ------------------------------------------------------------------- how the models hang together


@pytest.mark.parametrize("model", [m for m in MODELS if m is not GL])
@full_and_masked
def test_averaging_divides_rho_by_the_observations(
    model: type[GraphLearner], missing: float
) -> None:
    Y, side = signals(missing), sides(model)
    averaged = build(model, average=True, rho=2.8).fit(Y, **side)
    divided = build(model, rho=2.8 / N).fit(Y, **side)
    assert averaged.weights_ == pytest.approx(divided.weights_, abs=1e-12)
    assert averaged.signals_ == pytest.approx(divided.signals_, abs=1e-10)
    assert averaged.objective_ == pytest.approx(divided.objective_, rel=1e-12)
    plain = build(model, rho=2.8).fit(Y, **side)
    assert np.abs(plain.weights_ - averaged.weights_).max() > 1e-3


@full_and_masked
def test_models_coincide_where_the_table_says_so(missing: float) -> None:
    Y = signals(missing)

    def same(a: GraphLearner, b: GraphLearner) -> None:
        assert a.weights_ == pytest.approx(b.weights_, abs=1e-9)
        assert a.signals_ == pytest.approx(b.signals_, abs=1e-8)
        assert a.objective_ == pytest.approx(b.objective_, rel=1e-9)

    nothing = build(KGLN).fit(Y)
    same(build(KGL).fit(Y, K_x=np.eye(M), K_z=np.eye(N)), nothing)
    same(build(KGLO).fit(Y), nothing)
    same(build(KGLAgnostic).fit(Y), nothing)
    same(build(KGL).fit(Y, K_x=K_X), build(KGLN).fit(Y, K_x=K_X))
    same(build(KGL).fit(Y, K_z=K_Z), build(KGLO).fit(Y, K_z=K_Z))
    # and nowhere else
    whitened, agnostic = build(KGLO).fit(Y, K_z=K_Z), build(KGLAgnostic).fit(Y, K_z=K_Z)
    assert np.abs(whitened.weights_ - agnostic.weights_).max() > 1e-3
    assert np.abs(whitened.weights_ - nothing.weights_).max() > 1e-3


@full_and_masked
def test_gl2step_is_its_closed_form_with_gaps_for_zeros(missing: float) -> None:
    Y = signals(missing)
    fit = build(GL2Step, rho=0.7).fit(Y)
    zeros = np.nan_to_num(Y)
    assert fit.signals_ == pytest.approx(
        zeros @ np.linalg.inv(np.eye(M) + 0.7 * fit.laplacian_), abs=1e-10
    )
    assert np.array_equal(fit.weights_, build(GL2Step, rho=0.7).fit(zeros).weights_)
    distances = 0.7 * squareform(pdist(fit.signals_.T, "sqeuclidean"))
    assert learn_laplacian(distances, WEIGHTS["psi"]) == pytest.approx(fit.laplacian_, abs=1e-6)


@pytest.mark.parametrize("regularizer", ["frobenius", "log-degree"])
def test_gl_is_the_graph_step_of_the_distances(regularizer: str) -> None:
    Y = signals()
    fit = GL(**RAW, psi=2.0, regularizer=regularizer, barrier=3.0).fit(Y)
    Z = squareform(pdist(Y.T, "sqeuclidean"))
    literal = learn_laplacian(Z, 2.0, regularizer=regularizer, barrier=3.0)
    assert fit.laplacian_ == pytest.approx(literal, abs=1e-12)
    assert np.array_equal(fit.signals_, Y)
    assert fit.n_iter_ == 1
    assert fit.converged_


def test_what_gl_does_with_gaps() -> None:
    Y = signals(0.4)
    zero = GL(**RAW, psi=2.0).fit(Y)
    assert np.array_equal(zero.weights_, GL(**RAW, psi=2.0).fit(np.nan_to_num(Y)).weights_)
    Z = np.zeros((M, M))
    for i in range(M):
        for j in range(M):
            gaps = Y[:, i] - Y[:, j]
            Z[i, j] = N * np.nanmean(gaps**2)
    pairwise = GL(**RAW, psi=2.0, missing="pairwise").fit(Y)
    assert pairwise.laplacian_ == pytest.approx(learn_laplacian(Z, 2.0), abs=1e-10)
    assert np.abs(pairwise.weights_ - zero.weights_).max() > 1e-3
    complete = signals()
    assert GL(**RAW, psi=2.0, missing="pairwise").fit(complete).weights_ == pytest.approx(
        GL(**RAW, psi=2.0).fit(complete).weights_, abs=1e-12
    )


def test_a_start_changes_the_path_and_not_the_graph() -> None:
    Y = signals(0.3)
    cold = build(KGL).fit(Y, K_x=K_X, K_z=K_Z)
    warm = build(KGL, init=cold.laplacian_).fit(Y, K_x=K_X, K_z=K_Z)
    assert warm.weights_ == pytest.approx(cold.weights_, abs=1e-7)
    assert warm.n_iter_ < cold.n_iter_


# ------------------------------------------------------------------------------ how many edges


@every_model
@full_and_masked
def test_a_density_is_reached_exactly(model: type[GraphLearner], missing: float) -> None:
    Y, K_x, K_z = signals(missing, n=20, m=9), kernel(9, 1), kernel(20, 2)
    side = sides(model, K_x, K_z)
    # a weak coupling: where the graph shapes the signals much, edges can enter two at a time
    weak: dict[str, Any] = {"tol": 1e-4} | ({} if model is GL else {"rho": 0.02})
    for edges in (4, 11, 25):
        fit = build(model, **weak, density=edges / 36).fit(Y, **side)
        assert n_edges(fit.weights_) == edges
        again = build(model, **weak, psi=fit.psi_).fit(Y, **side)
        assert np.array_equal(again.weights_, fit.weights_)
    by_degree = build(model, **weak, average_degree=2 * 11 / 9).fit(Y, **side)
    assert n_edges(by_degree.weights_) == 11


def test_a_density_that_ties_make_impossible_is_reported() -> None:
    corners = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    simplex = np.vstack([corners, [1.0, 0.0, 0.0, 0.0]])  # all distances equal
    with pytest.warns(ConvergenceWarning, match=r"no psi gives a graph of 2 edges.*differs by 4"):
        GL(density=1 / 3).fit(simplex)


# ------------------------------------------------------------------------ knowledge about edges

EDGES = [(0, 1), (2, 5)]
MATRIX = np.zeros((M, M), dtype=bool)
for _i, _j in EDGES:
    MATRIX[_i, _j] = MATRIX[_j, _i] = True
FORMS = {
    "pairs": EDGES,
    "generator": {(0, 1), (5, 2)},
    "matrix": MATRIX,
    "numbers": MATRIX.astype(int),
    "networkx": nx.Graph(EDGES),
}


@every_model
@pytest.mark.parametrize("form", FORMS)
def test_forbidden_edges_stay_out(model: type[GraphLearner], form: str) -> None:
    Y, side = signals(), sides(model)
    free = build(model, psi=200.0).fit(Y, **side)
    assert n_edges(free.weights_) == 15
    fit = build(model, psi=200.0, forbidden_edges=FORMS[form]).fit(Y, **side)
    assert np.array_equal(fit.weights_ > 0, ~MATRIX & ~np.eye(M, dtype=bool))
    assert np.all(fit.edge_scores_[MATRIX] == -np.inf)


@every_model
@pytest.mark.parametrize("form", FORMS)
def test_allowed_edges_are_the_whole_support(model: type[GraphLearner], form: str) -> None:
    fit = build(model, psi=20.0, allowed_edges=FORMS[form]).fit(signals(), **sides(model))
    assert np.array_equal(fit.weights_ > 0, MATRIX)
    assert np.trace(fit.laplacian_) == pytest.approx(M)


def test_allowed_and_forbidden_edges_combine() -> None:
    fit = build(KGL, psi=20.0, allowed_edges=MATRIX, forbidden_edges=[(0, 1)]).fit(signals())
    assert set(zip(*np.nonzero(np.triu(fit.weights_)), strict=True)) == {(2, 5)}


@every_model
def test_edge_penalties_shift_the_distances(model: type[GraphLearner]) -> None:
    Y, side = signals(), sides(model)
    free = build(model).fit(Y, **side)
    heaviest = np.unravel_index(np.argmax(free.weights_), (M, M))
    penalty = np.zeros((M, M))
    penalty[heaviest] = penalty[heaviest[::-1]] = 3.0
    fit = build(model, edge_penalty=penalty).fit(Y, **side)
    assert fit.weights_[heaviest] < free.weights_[heaviest]
    # the same number for all pairs changes nothing: the total weight is fixed
    flat = build(model, edge_penalty=np.full((M, M), 3.0)).fit(Y, **side)
    assert flat.weights_ == pytest.approx(free.weights_, abs=1e-6)
    # inf is a ban
    penalty[heaviest] = penalty[heaviest[::-1]] = np.inf
    assert build(model, edge_penalty=penalty, psi=20.0).fit(Y, **side).weights_[heaviest] == 0.0


# ---------------------------------------------------------------------------------- log-degree


@every_model
@full_and_masked
def test_log_degree_leaves_no_node_alone(model: type[GraphLearner], missing: float) -> None:
    Y = signals(missing)
    Y[:, 0] += np.arange(N) % 4  # away from all others
    side = sides(model)
    sparse = build(model, psi=1e-3, tol=1e-4).fit(Y, **side)
    assert sparse.weights_.sum(axis=1).min() == 0.0
    fit = build(model, psi=1e-3, regularizer="log-degree", tol=1e-4).fit(Y, **side)
    assert fit.weights_.sum(axis=1).min() > 0.0
    assert fit.kkt_residual_ < 1e-9


# ---------------------------------------------------------------------------------- covariates


def test_covariates_are_turned_into_kernels() -> None:
    Y = signals(0.2)
    rng = np.random.default_rng(8)
    x, z = rng.standard_normal((M, 2)), np.arange(float(N))
    specs: list[tuple[Any, Any]] = [
        ("rbf", kernels.RBF()),
        (kernels.RBF(bandwidth="median_sq"), kernels.RBF(bandwidth="median_sq")),
        ("linear", kernels.Linear()),
        (lambda A, B: (A @ B.T) ** 2, kernels.FunctionKernel(lambda A, B: (A @ B.T) ** 2)),
    ]
    for spec, same in specs:
        fit = build(KGL, kernel_x=spec, kernel_z="rbf").fit(Y, x=x, z=z)
        by_matrix = build(KGL).fit(Y, K_x=same(x), K_z=kernels.RBF()(z))
        assert fit.weights_ == pytest.approx(by_matrix.weights_, abs=1e-12)
    precomputed = build(KGL, kernel_x="precomputed").fit(Y, x=K_X)
    assert precomputed.weights_ == pytest.approx(build(KGL).fit(Y, K_x=K_X).weights_, abs=1e-12)


def test_mixed_and_graph_covariates() -> None:
    Y = signals()
    x = pd.DataFrame({"height": np.arange(6.0), "country": list("aabbcc")})
    mixed = build(KGLN, kernel_x="mixed").fit(Y, x=x)
    by_matrix = build(KGLN).fit(Y, K_x=kernels.Mixed()(x))
    assert mixed.weights_ == pytest.approx(by_matrix.weights_, abs=1e-12)
    path = nx.to_numpy_array(nx.path_graph(M))
    spec = kernels.LaplacianKernel.from_adjacency(path)
    graph = build(KGLN, kernel_x=spec).fit(Y, x=np.arange(M))
    by_matrix = build(KGLN).fit(Y, K_x=spec.fit(np.arange(M)).matrix)
    assert graph.weights_ == pytest.approx(by_matrix.weights_, abs=1e-12)
    assert np.abs(graph.weights_ - mixed.weights_).max() > 1e-3


# ------------------------------------------------------------------------------------- predict


def f(fit: GraphLearner, K_z: Array, K_x: Array) -> Array:
    """The representer theorem, term by term: sum_ij a_ij k_z(z, z_i) k_x(x, x_j)."""
    A = fit.coefficients()
    out = np.zeros((len(K_z), len(K_x)))
    for p in range(len(K_z)):
        for q in range(len(K_x)):
            for i in range(A.shape[0]):
                for j in range(A.shape[1]):
                    out[p, q] += A[i, j] * K_z[p, i] * K_x[q, j]
    return out


@full_and_masked
def test_predict_follows_the_function_to_new_places(missing: float) -> None:
    rng = np.random.default_rng(9)
    x, z = rng.standard_normal((M, 2)), rng.standard_normal((N, 1))
    x_new, z_new = rng.standard_normal((3, 2)), rng.standard_normal((4, 1))
    fit = build(KGL, kernel_x=kernels.RBF(gamma=0.5), kernel_z=kernels.RBF(gamma=2.0))
    fit.fit(signals(missing), x=x, z=z)

    def rbf(gamma: float, a: Array, b: Array) -> Array:
        return np.array([[np.exp(-gamma * np.sum((p - q) ** 2)) for q in b] for p in a])

    K_x, K_z = rbf(0.5, x, x), rbf(2.0, z, z)
    new_x, new_z = rbf(0.5, x_new, x), rbf(2.0, z_new, z)
    assert fit.predict(z=z, x=x) == pytest.approx(fit.signals_, abs=1e-8)
    assert fit.predict(z=z) == pytest.approx(fit.signals_, abs=1e-8)
    assert fit.predict(x=x[::-1]) == pytest.approx(fit.signals_[:, ::-1], abs=1e-8)
    assert fit.predict(z=z_new) == pytest.approx(f(fit, new_z, K_x), abs=1e-9)
    assert fit.predict(x=x_new) == pytest.approx(f(fit, K_z, new_x), abs=1e-9)
    assert fit.predict(z_new, x_new) == pytest.approx(f(fit, new_z, new_x), abs=1e-9)
    assert fit.predict(K_z=new_z, x=x_new) == pytest.approx(f(fit, new_z, new_x), abs=1e-9)


@pytest.mark.parametrize("model", [KGLN, KGLO, KGL, KGLAgnostic])
def test_predict_with_precomputed_kernels(model: type[GraphLearner]) -> None:
    rng = np.random.default_rng(10)
    fit = build(model).fit(signals(0.3), **sides(model))
    cross: dict[str, Array] = {}
    if model in NODE_SIDE:
        cross["K_x"] = rng.random((2, M))
    if model in OBSERVATION_SIDE:
        cross["K_z"] = rng.random((3, N))
    literal = f(fit, cross.get("K_z", np.eye(N)), cross.get("K_x", np.eye(M)))
    assert fit.predict(**cross) == pytest.approx(literal, abs=1e-10)
    assert fit.predict(**sides(model)) == pytest.approx(fit.signals_, abs=1e-8)


@every_model
def test_a_fit_does_not_follow_later_changes_of_the_data(model: type[GraphLearner]) -> None:
    Y, side = signals(), {name: K.copy() for name, K in sides(model).items()}
    fit = build(model).fit(Y, **side)
    before = fit.coefficients(), fit.predict()
    Y[...] = 7.0
    for K in side.values():
        K[...] = 7.0
    assert np.array_equal(fit.coefficients(), before[0])
    assert np.array_equal(fit.predict(), before[1])


@pytest.mark.parametrize(
    ("model", "side", "what"),
    [(KGLN, "z", "observations"), (KGLO, "x", "nodes"), (GL2Step, "z", "observations")],
)
def test_predict_needs_a_kernel_on_that_side(
    model: type[GraphLearner], side: str, what: str
) -> None:
    fit = build(model).fit(signals(), **sides(model))
    for argument in (side, f"K_{side}"):
        with pytest.raises(ValueError, match=rf"without information on the {what}.*fit with"):
            fit.predict(**{argument: np.ones((1, 3))})


def test_predict_says_what_it_cannot_do() -> None:
    fit = build(KGL).fit(signals(), K_x=K_X, K_z=K_Z)
    with pytest.raises(ValueError, match=r"precomputed K_z; pass the kernel .* as K_z"):
        fit.predict(z=[[1.0]])
    with pytest.raises(ValueError, match=r"K_x must be \(new nodes, 6\).*got shape \(2, 5\)"):
        fit.predict(K_x=np.ones((2, 5)))
    with pytest.raises(ValueError, match=r"K_z\[0, 1\] = nan.*must be finite"):
        fit.predict(K_z=np.array([[1.0, np.nan] + [0.0] * 12]))
    covariates = build(KGL).fit(signals(), z=np.arange(float(N)))
    with pytest.raises(ValueError, match=r"both K_z and z were given"):
        covariates.predict(z=[1.0], K_z=np.ones((1, N)))
    with pytest.raises(ValueError, match=r"GL fits no function.*use KGL"):
        GL(psi=1.0).fit(signals()).predict(z=[1.0])


# -------------------------------------------------------------------------------------- impute


def test_impute_fills_gaps_and_nothing_else() -> None:
    Y = signals(0.4)
    seen = ~np.isnan(Y)
    fit = build(KGL).fit(Y, K_x=K_X, K_z=K_Z)
    filled = fit.impute(Y)
    assert np.array_equal(filled[seen], Y[seen])
    assert np.array_equal(filled[~seen], fit.signals_[~seen])
    assert np.isnan(Y[~seen]).all()
    frame = pd.DataFrame(Y, columns=list("abcdef"), index=[f"day {i}" for i in range(N)])
    named = fit.impute(frame)
    pd.testing.assert_frame_equal(
        named, pd.DataFrame(filled, columns=frame.columns, index=frame.index)
    )
    assert frame.isna().to_numpy().sum() == (~seen).sum()


def test_impute_says_what_it_cannot_do() -> None:
    Y = signals(0.4)
    fit = build(KGL).fit(Y)
    with pytest.raises(ValueError, match=r"\(13, 6\).*\(14, 6\).*use predict"):
        fit.impute(Y[1:])
    with pytest.raises(ValueError, match=r"GL fits no signals.*use GL2Step or KGL"):
        GL(psi=1.0).fit(Y).impute(Y)


# ----------------------------------------------------------------------- fitting and not fitting


@pytest.mark.parametrize("model", [m for m in MODELS if m is not GL])
def test_non_convergence_warns(model: type[GraphLearner]) -> None:
    fit = build(model, max_iter=1)
    with pytest.warns(
        ConvergenceWarning, match=r"did not converge in max_iter = 1 .*tol = 1e-09; raise max_iter"
    ) as record:
        fit.fit(signals(), **sides(model))
    assert record[0].filename == __file__  # the caller's line, not the library's
    assert fit.converged_ is False
    assert fit.n_iter_ == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert build(model).fit(signals(), **sides(model)).converged_ is True


def test_a_second_fit_forgets_the_first() -> None:
    fit = build(KGL, max_iter=1)
    with pytest.warns(ConvergenceWarning):
        fit.fit(signals(seed=3, m=5), K_x=kernel(5, 1))
    fit.set_params(max_iter=1000).fit(signals(), K_x=K_X)
    fresh = build(KGL).fit(signals(), K_x=K_X)
    assert np.array_equal(fit.weights_, fresh.weights_)
    assert fit.node_names_ == fresh.node_names_
    assert fit.n_features_in_ == M
