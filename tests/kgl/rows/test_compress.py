"""Compressed rows: the graph is that of the whole table, however it is read."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import kgl
from kgl.rows import tally

DATA = kgl.simulate.make_dataset("sbm", m=10, n=240, noise=0.1)
#: Levels and scales that differ between nodes.
TABLE = DATA.Y * np.logspace(-2, 2, 10) + 10.0 * np.arange(10)
GROWTH = np.exp(3.0 * DATA.Y / DATA.Y.std())
MODELS = (kgl.GL, kgl.GL2Step, kgl.KGLN, kgl.KGLO, kgl.KGL, kgl.KGLAgnostic)
SETTINGS = (
    ("node", "node", True),
    ("node", "none", False),
    ("both", "node", False),
    ("both", "common", True),
    ("none", "node", True),
    ("none", "none", True),
)
NAMES = [f"node {j}" for j in range(10)]


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of levels, with center="none"
        yield


def nodes(model: Any) -> dict[str, Any]:
    return {"K_x": DATA.K_x} if model._spec.node_kernel else {}


def apart(one: Any, other: Any) -> float:
    return float(np.abs(one.weights_ - other.weights_).max() / one.weights_.max())


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("table", [TABLE, GROWTH], ids=["plain", "growth"])
def test_the_graph_is_that_of_the_table(model, table):
    small = kgl.compress(table[k : k + 37] for k in range(0, 240, 37))
    for center, scale, signed in SETTINGS:
        set_up = model(center=center, scale=scale, signed=signed, average=True)
        whole = set_up.fit(table, **nodes(model))
        fitted = kgl.base.clone(set_up).fit(small, **nodes(model))
        assert apart(whole, fitted) < 1e-9
        assert fitted.psi_ == pytest.approx(whole.psi_, rel=1e-9)
        assert fitted.objective_ == pytest.approx(whole.objective_, rel=1e-9)
        assert fitted._logs == whole._logs == (table is GROWTH)
        assert np.array_equal(fitted.signs_, whole.signs_)


@pytest.mark.parametrize("log", [True, False])
def test_logarithms_as_asked_for(log):
    small = kgl.compress(GROWTH, log=log)
    assert apart(kgl.GL(log=log).fit(GROWTH), kgl.GL(log=log).fit(small)) < 1e-10
    if log:  # the values are kept too
        assert apart(kgl.GL(log=False).fit(GROWTH), kgl.GL(log=False).fit(small)) < 1e-10
    else:
        with pytest.raises(ValueError, match=r"compress\(data, log=True\)"):
            kgl.GL(log=True).fit(small)


def test_logarithms_of_more_rows_than_the_sample_holds(monkeypatch):
    monkeypatch.setattr(tally, "SAMPLE_FLOATS", 0)
    monkeypatch.setattr(tally, "SAMPLE_ROWS", 60)
    rng = np.random.default_rng(0)
    table = np.exp(1.5 * rng.normal(size=(3000, 4)) + rng.normal(size=(3000, 1)))
    whole = kgl.GL().fit(table)
    assert whole._logs
    for data in (table, list(np.array_split(table, 7)), lambda: iter(np.array_split(table, 7))):
        small = kgl.compress(data)
        assert small.logs is not None
        assert apart(whole, kgl.GL().fit(small)) < 1e-10
    with pytest.raises(ValueError, match=r"read only once|came once"):
        kgl.compress(iter(np.array_split(table, 7)))
    # clearly no growth: one pass is enough
    plain = rng.normal(size=(90_000, 3))
    monkeypatch.setattr(tally, "SAMPLE_ROWS", 40_000)
    assert kgl.compress(iter(np.array_split(plain, 50))).logs is None


def test_results_do_not_depend_on_pieces_to_the_last_bit():
    ways = [
        kgl.compress(TABLE, chunk_rows=50),
        kgl.compress((row[None] for row in TABLE), chunk_rows=50),
        kgl.compress((TABLE[k : k + 33] for k in range(0, 240, 33)), chunk_rows=50),
        kgl.compress([TABLE[:1], TABLE[1:1], TABLE[1:]], chunk_rows=50),
    ]
    for other in ways[1:]:
        assert np.array_equal(other.values.rows.products, ways[0].values.rows.products)
    first = kgl.KGLN().fit(ways[0], K_x=DATA.K_x)
    for size in (1, 7, 1000):
        again = kgl.KGLN().fit(kgl.compress(TABLE, chunk_rows=size), K_x=DATA.K_x)
        assert apart(first, again) < 1e-10


def test_a_producer_may_reuse_its_array():
    def rows():
        buffer = np.empty((7, 10))
        for begin in range(0, 238, 7):
            buffer[:] = TABLE[begin : begin + 7]
            yield buffer

    same = kgl.compress(TABLE[:238], chunk_rows=50)
    assert np.array_equal(
        kgl.compress(rows(), chunk_rows=50).values.rows.products, same.values.rows.products
    )


class Sliceable:
    """What Zarr and HDF5 arrays offer."""

    shape = TABLE.shape

    def __getitem__(self, rows: slice) -> Any:
        assert isinstance(rows, slice)
        return TABLE[rows]


class Delayed:
    """A block of Dask."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def compute(self) -> Any:
        return self.rows


def test_kinds_of_tables(tmp_path):
    np.save(tmp_path / "table.npy", TABLE)
    mapped = np.load(tmp_path / "table.npy", mmap_mode="r")
    frame = pd.DataFrame(TABLE, columns=NAMES)
    pa = pytest.importorskip("pyarrow")
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    named = [frame, arrow, arrow.to_batches(max_chunksize=50), frame.convert_dtypes()]
    plain = [mapped, Sliceable(), [Delayed(TABLE[:99]), Delayed(TABLE[99:])], TABLE.tolist()[:0]]
    reference = kgl.compress(TABLE).values.rows
    for data in [*named, *plain[:3]]:
        small = kgl.compress(data)
        assert np.allclose(small.values.rows.gram("node"), reference.gram("node"), rtol=1e-12)
        assert small.names == (NAMES if any(data is one for one in named) else list(range(10)))
        assert small.n_rows == 240
    model = kgl.GL().fit(kgl.compress(frame))
    assert model.node_names_ == NAMES
    assert list(model.feature_names_in_) == NAMES
    assert model.n_features_in_ == 10
    assert kgl.compress(TABLE.astype(np.float32)).values.rows.products.dtype == np.float64


def test_few_rows_and_constant_columns():
    few = TABLE[:4]
    assert apart(kgl.GL().fit(few), kgl.GL().fit(kgl.compress(few))) < 1e-9
    constant = TABLE.copy()
    constant[:, 3] = 1e6
    with pytest.warns(UserWarning, match="constant"):
        fitted = kgl.KGLN().fit(kgl.compress(constant), K_x=DATA.K_x)
    assert apart(kgl.KGLN().fit(constant, K_x=DATA.K_x), fitted) < 1e-9


def test_levels_warn_as_in_fit():
    with pytest.warns(UserWarning, match="means of the nodes"):
        kgl.GL(center="none").fit(kgl.compress(DATA.Y + 10.0 * np.arange(10)))


@pytest.mark.parametrize("model", MODELS)
def test_grids(model):
    small = kgl.compress(TABLE)
    axes = {name: [0.01, 0.1] for name in model._spec.hyperparameters}
    whole = kgl.fit_grid(model, TABLE, **nodes(model), **axes, objective=True)
    grid = kgl.fit_grid(model, small, **nodes(model), **axes, objective=True)
    assert np.allclose(grid.weights, whole.weights, atol=1e-10)
    assert np.allclose(grid.objective, whole.objective, rtol=1e-9)
    with pytest.raises(ValueError, match="signals=True needs the rows"):
        kgl.fit_grid(model, small, **nodes(model), **axes, signals=True)


@pytest.mark.parametrize("model", MODELS)
def test_signals_by_reading_again(model):
    small = kgl.compress(TABLE)
    for center in ("node", "both", "none"):
        whole = model(center=center, average=True).fit(TABLE, **nodes(model))
        fitted = model(center=center, average=True).fit(small, **nodes(model))
        blocks = list(small.signals(fitted, TABLE, chunk_rows=100))
        assert [len(block) for block in blocks] == [100, 100, 40]
        assert np.allclose(np.concatenate(blocks), whole.signals_, rtol=1e-8, atol=1e-8)


def test_signals_of_other_columns_are_refused():
    frame = pd.DataFrame(TABLE, columns=NAMES)
    small = kgl.compress(frame)
    model = kgl.GL2Step().fit(small)
    with pytest.raises(
        ValueError, match="'node 9' in place 0, where the compressed table has 'node 0'"
    ):
        list(small.signals(model, frame[NAMES[::-1]]))
    with pytest.raises(ValueError, match="9 columns but the compressed table has 10"):
        list(small.signals(model, TABLE[:, :9]))
    with pytest.raises(ValueError, match="fitted to other data"):
        kgl.compress(TABLE).signals(model, TABLE)
    assert np.array_equal(*(next(small.signals(model, data)) for data in (frame, TABLE)))
    with pytest.raises(NotFittedError):
        small.signals(kgl.GL2Step(), TABLE)


def test_what_needs_single_rows_says_so():
    small = kgl.compress(TABLE)
    model = kgl.KGLN().fit(small, K_x=DATA.K_x)
    assert not hasattr(model, "signals_")
    for ask in (lambda: model.signals_, lambda: model.predict(), lambda: model.impute(TABLE)):
        with pytest.raises(AttributeError, match="signals of single rows"):
            ask()
    with pytest.raises(ValueError, match="sums over rows"):
        model.predict(K_x=DATA.K_x[:2])
    with pytest.raises((ValueError, AttributeError), match="rows"):
        model.predict(return_std=True)
    with pytest.raises(TypeError, match="not a table"):
        kgl.BayesianKGL().fit(small)
    with pytest.raises(TypeError, match="not a table"):
        kgl.KGLImputer().fit(small)
    assert "240 observations" in model.summary()
    again = model.fit(TABLE, K_x=DATA.K_x)
    assert again.signals_.shape == TABLE.shape
    assert not hasattr(model.fit(small, K_x=DATA.K_x), "signals_")
    copy = pickle.loads(pickle.dumps((small, model)))
    assert apart(copy[1], copy[1].fit(copy[0], K_x=DATA.K_x)) == 0.0


def test_many_nodes_take_the_sparse_way():
    rng = np.random.default_rng(0)
    places = rng.normal(size=(40, 2))
    table = rng.normal(size=(300, 5)) @ rng.normal(size=(5, 40)) + rng.normal(size=(300, 40))
    K_x = kgl.kernels.RBF(gamma=0.5)(places)
    whole = kgl.KGLN(psi=0.01, solver="sparse").fit(table, K_x=K_x)
    small = kgl.compress(table)
    fitted = kgl.KGLN(psi=0.01, solver="sparse").fit(small, K_x=K_x)
    assert abs(fitted.weights_ - whole.weights_).max() < 1e-9 * whole.weights_.max()
    assert not hasattr(fitted, "signals_")
    (signals,) = small.signals(fitted, table)
    assert np.allclose(signals, whole.signals_, atol=1e-8)


# ------------------------------------------------------------------------------------- bad input


def changed(i: int, j: int, value: float) -> Any:
    table = TABLE.copy()
    table[i, j] = value
    return table


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_missing_entries_name_chunk_and_column(value):
    pieces = [TABLE[:100], pd.DataFrame(changed(130, 4, value)[100:200], columns=NAMES)]
    named = [pd.DataFrame(pieces[0], columns=NAMES), pieces[1]]
    with pytest.raises(ValueError, match=r"chunk 1 .* row 30 \(row 130 of all\), column 'node 4'"):
        kgl.compress(named)
    with pytest.raises(ValueError, match=r"chunk 2 .* row 30 \(row 130 of all\), column 4, is"):
        kgl.compress(changed(130, 4, value), chunk_rows=50)
    masked = np.ma.masked_array(TABLE[:5], mask=np.eye(5, 10, dtype=bool))
    with pytest.raises(ValueError, match=r"chunk 1 .* row 0 .* column 0, is nan"):
        kgl.compress(iter([TABLE, masked]))


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ([TABLE, TABLE[:, :9]], ValueError, "chunk 1 .* has 9 columns but the first chunk has 10"),
        ([], ValueError, "no rows"),
        (iter([]), ValueError, "no rows"),
        (TABLE[:0], ValueError, "no rows"),
        ("table.csv", TypeError, "text, not a table"),
        ([TABLE, "rows"], TypeError, "chunk 1 of the data is text"),
        (TABLE[0], ValueError, r"1 dimension\(s\)"),
        ([TABLE, TABLE[0]], ValueError, "chunk 1 .* one row has shape"),
        (3.0, TypeError, "got float"),
        ([TABLE.astype(complex)], TypeError, "chunk 0 .* column 0"),
        ([TABLE.astype(str)], TypeError, "chunk 0 .* column 0, holds"),
        (
            [pd.DataFrame({"a": [1.0], "b": ["x"]})],
            TypeError,
            "chunk 0 of the data, column 'b', holds 'x'",
        ),
        (
            [pd.DataFrame({"a": [1.0], "b": pd.to_datetime(["2020-01-01"])})],
            TypeError,
            "chunk 0 of the data, column 'b'",
        ),
        (
            [pd.DataFrame({"a": [1.0], "b": [2.0]}), pd.DataFrame({"b": [1.0], "a": [2.0]})],
            ValueError,
            "chunk 1 .* column 'b' in place 0, where the first chunk has 'a'",
        ),
        (pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), ValueError, "duplicate node name 'a'"),
        (np.full((3, 2), 1e200) * [[1], [-1], [1]], ValueError, "double precision"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bad_data(data, error, message):
    with pytest.raises(error, match=message):
        kgl.compress(data)


def test_bad_options():
    for bad in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match="chunk_rows"):
            kgl.compress(TABLE, chunk_rows=bad)
    for bad in (0, 1.5):
        with pytest.raises(ValueError, match="n_folds"):
            kgl.compress(TABLE, n_folds=bad)
    with pytest.raises(ValueError, match="log = 'yes'"):
        kgl.compress(TABLE, log="yes")
    with pytest.raises(ValueError, match="2 node names"):
        kgl.compress(TABLE, names=["a", "b"])
    with pytest.raises(ValueError, match="minimum of 2"):
        kgl.GL().fit(kgl.compress(TABLE[:, :1]))


def test_progress_counts_rows():
    seen: list[tuple[int, int]] = []
    kgl.compress(TABLE, chunk_rows=100, progress=lambda *done: seen.append(done))
    assert seen == [(100, 240), (200, 240), (240, 240)]
