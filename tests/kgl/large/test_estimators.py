"""Estimators on both ways: the same graph, sparse results, predictions, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import kgl
from kgl._types import Array
from kgl.base import GraphLearner
from kgl.kernels import RBF, LaplacianKernel, LowRank, Mixed, NotLowRankError
from kgl.large.route import edge_share, takes_sparse
from kgl.plotting_large import clusters_of, place_by_clusters
from tests.kgl.large.cases import table

Y, X, B = table()
T = np.linspace(0.0, 1.0, len(Y))
GAPS = np.where(np.random.default_rng(1).random(Y.shape) < 0.25, np.nan, Y)
WIDE = RBF(gamma=4.0)


def both(
    cls: type[GraphLearner], data: Array, *, side: dict[str, Any], **options: Any
) -> tuple[Any, Any]:
    """Fit the sparse way for a degree and the dense way at its psi."""
    large = cls(solver="sparse", average_degree=4, **options).fit(data, **side)
    plain = cls(solver="sparse", psi=large.psi_, **options).fit(data, **side)
    dense = cls(solver="newton", psi=large.psi_, **options).fit(data, **side)
    W = large.weights_.toarray()
    np.testing.assert_allclose(plain.weights_.toarray(), W, atol=1e-12)
    return dense, plain


@pytest.mark.parametrize("data", [Y, GAPS])
@pytest.mark.parametrize(
    ("cls", "side", "options"),
    [
        (kgl.GL, {}, {}),
        (kgl.GL2Step, {}, {"signed": False}),
        (kgl.KGLN, {}, {"lam": 0.1}),
        (kgl.KGLN, {"x": X}, {"lam": 0.1, "kernel_x": WIDE}),
        (kgl.KGLO, {"z": T}, {"lam": 0.1}),
        (kgl.KGL, {"z": T}, {"lam": 0.1, "kernel_x": LowRank(B), "kernel_z": WIDE}),
        (kgl.KGL, {"z": T}, {"lam": 0.1, "kernel_x": LowRank(B, white=0.2), "kernel_z": WIDE}),
        (kgl.KGLAgnostic, {"z": T}, {"lam": 0.1}),
    ],
)
def test_both_ways_find_the_same_graph(
    cls: type[GraphLearner], side: dict[str, Any], options: dict[str, Any], data: Array
) -> None:
    dense, large = both(cls, data, side=side, **options)
    assert sparse.issparse(large.weights_)
    W = large.weights_.toarray()
    assert np.array_equal(W > 0, dense.weights_ > 0)
    np.testing.assert_allclose(W, dense.weights_, atol=1e-6 * W.max())
    np.testing.assert_allclose(large.laplacian_.toarray(), dense.laplacian_, atol=1e-6)
    np.testing.assert_allclose(large.signals_, dense.signals_, atol=1e-5)
    assert large.objective_ == pytest.approx(dense.objective_, rel=1e-6)
    assert large.kkt_residual_ < 1e-10
    assert (large.pairs_examined_, large.pairs_violated_) == (60 * 59 // 2, 0)
    on = W > 0
    assert np.array_equal(large.signs_.toarray()[on], dense.signs_[on])


def test_the_default_tolerance_of_kernels_leaves_weights_as_they_are() -> None:
    side = {"x": [[float(a), "uvwx"[k % 4]] for k, a in enumerate(X[:, 0])]}
    large, dense = (
        kgl.KGLN(solver=solver, kernel_x=Mixed(), psi=0.005).fit(Y, **side)
        for solver in ("sparse", "newton")
    )
    W = large.weights_.toarray()
    assert np.array_equal(W > 0, dense.weights_ > 0)
    np.testing.assert_allclose(W, dense.weights_, atol=1e-4 * W.max())  # 4e-3 at 1e-8


@pytest.mark.parametrize("white", [0.0, 0.2])
def test_predictions_are_those_of_the_dense_fit(white: float) -> None:
    side = {"x": B, "z": T}
    options = {"lam": 0.1, "kernel_x": LowRank(white=white), "kernel_z": WIDE}
    dense, large = both(kgl.KGL, GAPS, side=side, **options)
    for new in ({"z": [0.11, 0.5]}, {"x": B[:3] + 0.05}, {"z": [0.3], "x": B[:3] + 0.05}):
        np.testing.assert_allclose(large.predict(**new), dense.predict(**new), atol=1e-6)
    np.testing.assert_allclose(large.impute(GAPS), dense.impute(GAPS), atol=1e-6)
    again = pickle.loads(pickle.dumps(large))
    np.testing.assert_allclose(again.predict(z=[0.11]), large.predict(z=[0.11]))
    for call in (lambda: large.impute(GAPS, return_std=True), large.coefficients):
        with pytest.raises(ValueError, match="solver='newton'"):
            call()


def test_new_rows_of_an_imputer() -> None:
    options = {"lam": 0.1, "kernel_x": LowRank(B), "psi": 0.02}
    new = GAPS[:3] + 0.1
    found = [
        kgl.KGLImputer(estimator=kgl.KGLN(solver=solver, **options)).fit(GAPS).transform(new)
        for solver in ("newton", "sparse")
    ]
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)


def test_scores_on_request() -> None:
    dense, large = both(kgl.GL, Y, side={})
    pairs = [(0, 1), (3, 40), (7, 7)]
    np.testing.assert_allclose(large.pair_scores(pairs), dense.pair_scores(pairs), atol=1e-12)
    mine, other = large.runners_up(3), dense.runners_up(3)
    assert mine[["source", "target"]].equals(other[["source", "target"]])
    np.testing.assert_allclose(mine["score"], other["score"], atol=1e-12)
    with pytest.raises(AttributeError, match="runners_up"):
        large.edge_scores_  # noqa: B018
    with pytest.raises(ValueError, match="not a pair"):
        large.pair_scores([(0, "nobody")])
    with pytest.raises(ValueError, match="k = 0"):
        large.runners_up(0)


def test_exports_and_metrics_take_sparse_graphs() -> None:
    dense, large = both(kgl.GL, Y, side={})
    columns = ["source", "target", "weight", "sign"]
    mine, other = large.to_edges()[columns], dense.to_edges()[columns]
    assert mine[columns[:2]].equals(other[columns[:2]])
    np.testing.assert_allclose(mine["weight"], other["weight"], atol=1e-12)
    assert nx.utils.edges_equal(large.to_networkx().edges(), dense.to_networkx().edges())
    assert large.to_sparse().nnz == dense.to_sparse().nnz
    assert large.summary().splitlines()[0] == dense.summary().splitlines()[0]
    assert "1770 pairs examined, 0" in large.summary()
    with pytest.raises(ValueError, match="runners_up"):
        large.to_edges(all_pairs=True)
    truth = np.triu(np.random.default_rng(0).random((60, 60)) < 0.1, 1).astype(float)
    truth += truth.T
    W, S = dense.weights_, large.weights_
    for metric in (kgl.metrics.aps, kgl.metrics.f_score, kgl.metrics.sse_graph):
        assert metric(truth, S) == pytest.approx(metric(truth, W))
    assert kgl.metrics.density(S) == pytest.approx(kgl.metrics.density(W))
    with pytest.raises(ValueError, match="threshold=None"):
        kgl.metrics.aps(truth, S, threshold=None)


def grouped(m: int = 400, groups: int = 8) -> sparse.csr_array:
    """Cliques of equal size, a weak link between neighbouring ones, and one node alone."""
    each = (m - 1) // groups
    blocks = [np.ones((each, each)) - np.eye(each)] * groups
    W = sparse.lil_array((m, m))
    W[: each * groups, : each * groups] = sparse.block_diag(blocks).toarray()
    for k in range(groups - 1):
        W[k * each, (k + 1) * each] = W[(k + 1) * each, k * each] = 0.1
    return sparse.csr_array(W)


def test_a_picture_of_a_large_graph_has_all_its_nodes_in_clusters() -> None:
    pytest.importorskip("matplotlib").use("agg")
    W = grouped(393)
    names = [f"node {k}" for k in range(393)]
    ax = kgl.plotting.plot_graph(W, names=names, title="cliques")
    lines, dots = ax.collections
    assert len(dots.get_offsets()) == 393
    assert len(lines.get_segments()) == W.nnz // 2
    assert ax.get_title() == (
        f"cliques\n393 nodes in 8 clusters, {W.nnz // 2:,} edges; 1 nodes without an edge"
    )
    assert len(ax.texts) == 8  # a hub for each clique, none for the node alone
    assert all(text.get_text() in names for text in ax.texts)
    positions = np.column_stack([np.arange(393.0), np.arange(393.0) % 7])
    ax = kgl.plotting.plot_graph(W, positions=positions, values=np.arange(393.0), labels=False)
    assert np.array_equal(ax.collections[1].get_offsets(), positions)
    assert not ax.texts


def test_clusters_are_placed_apart() -> None:
    W = grouped(393)
    member = clusters_of(W)
    placed = place_by_clusters(W, member)
    np.testing.assert_array_equal(placed, place_by_clusters(W, member))
    centres = np.array([placed[member == k].mean(axis=0) for k in range(8)])
    reach = max(
        float(np.linalg.norm(placed[member == k] - centres[k], axis=1).max()) for k in range(8)
    )
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2)[np.triu_indices(8, 1)]
    assert gaps.min() > reach
    alone = placed[392]
    assert np.linalg.norm(alone) > np.linalg.norm(placed[:392], axis=1).max()


def test_known_edges_as_sparse_patterns() -> None:
    near = np.abs(np.subtract.outer(np.arange(60), np.arange(60))) <= 3
    np.fill_diagonal(near, False)
    cost = sparse.csr_array(np.triu(near, 2) * 1.0)
    cost = sparse.csr_array(cost + cost.T)
    banned = sparse.coo_array(([1, 1], ([0, 1], [1, 0])), shape=(60, 60))
    how = {"allowed_edges": sparse.csr_array(near), "edge_penalty": cost,
           "forbidden_edges": banned, "psi": 3.0}  # fmt: skip
    large, dense = (kgl.GL(solver=s, **how).fit(Y) for s in ("sparse", "newton"))
    np.testing.assert_allclose(large.weights_.toarray(), dense.weights_, atol=1e-12)
    assert large.objective_ == pytest.approx(dense.objective_)
    assert not (large.weights_.toarray() > 0)[~near].any()
    assert large.weights_[0, 1] == 0.0
    assert large.pairs_examined_ < near.sum()


@pytest.mark.parametrize("solver", ["newton", "sparse"])
def test_stored_zeros_of_a_pattern_are_pairs(solver: str) -> None:
    band = np.abs(np.subtract.outer(np.arange(60), np.arange(60))) <= 2
    rows, cols = np.nonzero(band)
    distances = np.abs(rows - cols) * (rows // 2 != cols // 2) * 1.0
    assert (distances[rows != cols] == 0).any()
    stored = sparse.csr_array((distances, (rows, cols)), shape=(60, 60))
    found, known = (
        kgl.GL(solver=solver, psi=3.0, allowed_edges=given).fit(Y) for given in (stored, band)
    )
    assert abs(found.weights_ - known.weights_).max() == 0
    assert found.pairs_examined_ == 59 + 58
    with_false = sparse.csr_array((distances > 0, (rows, cols)), shape=(60, 60))
    part = kgl.GL(solver=solver, psi=3.0, allowed_edges=with_false).fit(Y)
    assert part.pairs_examined_ == np.count_nonzero(distances) // 2
    stored.data[3] = np.nan
    for wrong in (stored, stored.toarray()):
        with pytest.raises(ValueError, match="allowed_edges holds NaN"):
            kgl.GL(solver=solver, psi=3.0, allowed_edges=wrong).fit(Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"allowed_edges": sparse.csr_array((59, 59))}, "there are 60 nodes"),
        ({"allowed_edges": sparse.csr_array((60, 60))}, "every edge is forbidden"),
        ({"allowed_edges": [(0, "nobody")]}, "'nobody'"),
        ({"edge_penalty": sparse.csr_array(-np.fliplr(np.eye(60)))}, "non-negative"),
        ({"certify": "some"}, "certify"),
        ({"solver": "fast"}, "unknown solver"),
        ({"init": sparse.eye_array(60)}, "Laplacian"),
        ({"init": sparse.csr_array((60, 5))}, r"Laplacian of 60 nodes.*\(60, 5\)"),
    ],
)
def test_bad_input_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kgl.GL(**{"solver": "sparse", "psi": 1.0, **options}).fit(Y)


def test_a_kernel_that_is_not_low_rank_is_refused_or_goes_the_dense_way() -> None:
    narrow = {"kernel_x": RBF(gamma=1e4), "max_rank": 20, "psi": 0.01}
    with pytest.raises(NotLowRankError, match=r"20 columns leave .* wider kernel") as error:
        kgl.KGLN(solver="sparse", **narrow).fit(Y, x=X)
    assert 0.5 < error.value.reached < 1
    L = kgl.laplacian.laplacian_from_adjacency(np.ones((60, 60)) - np.eye(60))
    with pytest.raises(ValueError, match="no single columns"):
        kgl.KGLN(solver="sparse", kernel_x=LaplacianKernel(L), psi=0.01).fit(Y)


def test_auto_takes_the_dense_way_where_only_that_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgl.large.route.LARGE_FROM", 50)
    model = kgl.KGLN(kernel_x=RBF(gamma=1e4), max_rank=20, average_degree=4).fit(Y, x=X)
    assert isinstance(model.weights_, np.ndarray)
    assert sparse.issparse(kgl.KGLN(average_degree=4).fit(Y).weights_)
    dense = kgl.GL(missing="pairwise", average_degree=4).fit(GAPS)
    assert isinstance(dense.weights_, np.ndarray)


def test_the_way_depends_on_nodes_and_edges() -> None:
    assert not takes_sparse("auto", 200, 100)
    assert takes_sparse("auto", 2000, 10_000)
    assert takes_sparse("auto", 2000, None)
    assert not takes_sparse("auto", 2000, 1_000_000)
    assert takes_sparse("sparse", 10, 45)
    assert not takes_sparse("newton", 10**6, 10**6)


def test_many_nodes_have_a_degree_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgl.base.LARGE_FROM", 50)
    model = kgl.GL(solver="sparse").fit(Y)
    assert model.weights_.nnz / 60 == pytest.approx(10, abs=0.7)


def test_memory_is_estimated_before_work_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgl._memory.available_memory", lambda: 2**20 // 2)
    monkeypatch.setattr("kgl.base.LARGE_FROM", 50)
    with pytest.raises(MemoryError, match=r"needs about .* MB.*only 0 MB .*; use"):
        kgl.GL(solver="sparse", psi=1.0).fit(Y)
    with pytest.raises(MemoryError, match="solver='sparse'"):
        kgl.KGLN(solver="newton", psi=1.0).fit(Y)


def short_of_memory(monkeypatch: pytest.MonkeyPatch, megabytes: float) -> None:
    monkeypatch.setattr("kgl._memory.available_memory", lambda: int(megabytes * 2**20))


def test_a_kernel_of_many_rows_is_refused_before_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = np.random.default_rng(0).normal(size=(1500, 6))
    short_of_memory(monkeypatch, 20)
    with pytest.raises(MemoryError, match=r"kernel of 1500 x 1500 observations.*kgl\.compress"):
        kgl.KGL(psi=1.0).fit(rows, z=np.arange(1500.0))
    kgl.KGLN(psi=1.0).fit(rows, K_x=np.eye(6))  # has no kernel over rows


def test_eigenvectors_are_refused_once_no_factor_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kgl.kernels.matrices.FACTOR_FROM", 100)
    short_of_memory(monkeypatch, 0.2)
    points = np.arange(120.0)
    low = np.outer(points, points) + 1.0
    assert kgl.kernels.kernel_eigen(low, "K_z", 120).rank == 2
    full = np.exp(-np.abs(points[:, None] - points))
    with pytest.raises(MemoryError, match=r"K_z, which is not of low rank, needs about"):
        kgl.kernels.kernel_eigen(full, "K_z", 120)


def test_a_factor_is_refused_while_it_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(0).uniform(size=(3000, 2))
    kernel = kgl.kernels.RBF(gamma=20.0)
    rank = kgl.kernels.factorize(kernel.access(points), kernel).factor.shape[1]
    assert rank > 100
    short_of_memory(monkeypatch, 8 * 3000 * rank / 2**20)
    with pytest.raises(MemoryError, match=r"factor of a kernel of 3000 points.*wider kernel"):
        kgl.kernels.factorize(kernel.access(points), kernel)


@pytest.mark.parametrize(
    ("regularizer", "psi"),
    [("frobenius", 4.0), ("frobenius", 100.0), ("log-degree", 300.0), ("log-degree", 3000.0)],
)
def test_the_share_of_edges_is_estimated(regularizer: str, psi: float) -> None:
    data = np.random.default_rng(0).normal(size=(40, 700))
    model = kgl.GL(regularizer=regularizer, psi=psi)
    true = np.count_nonzero(model.fit(data).weights_) / (700 * 699)
    F = np.ascontiguousarray(data.T)
    found = edge_share(F, psi, signed=False, regularizer=regularizer, barrier=1.0, rho=1.0)
    assert 0.001 < true < 0.9
    assert 0.7 < found / true < 1.4


def test_a_psi_that_links_many_pairs_takes_the_dense_fit() -> None:
    data = np.random.default_rng(0).normal(size=(20, 1000))
    few, many = kgl.GL(psi=3.0).fit(data), kgl.GL(psi=3e3).fit(data)
    assert sparse.issparse(few.weights_)
    assert few.weights_.nnz < 0.01 * 1000**2
    assert isinstance(many.weights_, np.ndarray)
    assert np.count_nonzero(many.weights_) > 0.05 * 1000**2
    assert sparse.issparse(kgl.GL(psi=3e3, solver="sparse").fit(data).weights_)


def test_a_sample_reports_what_it_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgl.solvers.sparse.step.NEIGHBOURS", 3)
    monkeypatch.setattr("kgl.solvers.sparse.step._CROWDED", 1.1)
    model = kgl.GL(solver="sparse", psi=30.0, certify=False).fit(Y)
    examined = model.pairs_examined_
    assert model.pairs_violated_ == 0
    assert examined < 1770
    assert f"{examined} of 1770 pairs examined; the others are not certified" in model.summary()
    sampled = kgl.GL(solver="sparse", psi=30.0, certify="sample")
    with pytest.warns(ConvergenceWarning) as given:
        sampled.fit(Y)
    assert sampled.pairs_violated_ > 0
    assert ["certify='all'" in str(one.message) for one in given] == [True]
    assert f"{sampled.pairs_violated_} of them should be edges" in sampled.summary()


@pytest.mark.parametrize("solver", ["newton", "sparse"])
def test_unknown_certificates_are_refused_either_way(solver: str) -> None:
    with pytest.raises(ValueError, match="unknown certify 'some'"):
        kgl.GL(solver=solver, psi=1.0, certify="some").fit(Y)


def test_both_ways_count_the_pairs_that_may_be_edges() -> None:
    near = np.abs(np.subtract.outer(np.arange(60), np.arange(60))) <= 3
    barred = np.abs(np.subtract.outer(np.arange(60), np.arange(60))) == 2
    allowed, rest = np.count_nonzero(np.triu(near, 1)), np.count_nonzero(np.triu(~barred, 1))
    inf = np.where(barred, np.inf, 0.0)
    for solver in ("newton", "sparse"):
        for rules, count in (
            ({"allowed_edges": near}, allowed),
            ({"allowed_edges": near, "forbidden_edges": barred}, allowed - 58),
            ({"forbidden_edges": barred}, rest),
            ({"edge_penalty": inf}, rest),
        ):
            model = kgl.GL(solver=solver, psi=3.0, **rules).fit(Y)
            assert model.pairs_examined_ == count


def test_a_dense_refit_keeps_nothing_of_a_sparse_fit() -> None:
    model = kgl.KGLN(solver="sparse", kernel_x=WIDE, psi=0.02).fit(Y, x=X)
    assert model.kernel_trace_error_ < 1e-8
    fresh = kgl.KGLN(solver="newton", kernel_x=WIDE, psi=0.02).fit(Y, x=X)
    model.set_params(solver="newton").fit(Y, x=X)
    assert set(vars(model)) == set(vars(fresh))


def test_a_psi_that_links_many_pairs_is_counted_in_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = np.random.default_rng(0).normal(size=(20, 600))
    short_of_memory(monkeypatch, 20)
    kgl.GL(psi=1.0, solver="sparse").fit(data)
    with pytest.raises(MemoryError, match=r"a graph of about 1\d{5} edges.*smaller .* psi"):
        kgl.GL(psi=1e4, solver="sparse").fit(data)
    near = sparse.diags_array([np.ones(599)] * 2, offsets=[-1, 1])
    kgl.GL(psi=1e4, solver="sparse", allowed_edges=near).fit(data)
    short_of_memory(monkeypatch, 2)
    with pytest.raises(MemoryError, match="a graph of 600 nodes"):
        kgl.GL(psi=1.0, solver="sparse").fit(data)


@pytest.mark.parametrize("solver", ["newton", "sparse"])
@pytest.mark.parametrize("name", ["kernel_tol", "max_rank"])
def test_limits_of_factors_are_checked(name: str, solver: str) -> None:
    wrong: list[Any] = [None, -3, 2.5, "5", 0, True, np.nan]
    for value in wrong:
        with pytest.raises(ValueError, match=f"^{name} = .* must be a"):
            kgl.KGLN(solver=solver, psi=0.02, **{name: value}).fit(Y, x=X)
        if value is not None:
            with pytest.raises(ValueError, match=f"^{name} = .* must be a"):
                kgl.compress(Y, z=T, kernel_z=WIDE, **{name: value})


def test_grids_refuse_the_sparse_way() -> None:
    with pytest.raises(ValueError, match="one model at a time"):
        kgl.fit_grid(kgl.GL, Y, psi=[1.0], solver="sparse")
