"""The data sets: what the loaders return, what they refuse, and the stand-ins."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_files import SIZES, described, sushi_files, swiss_files, write

import kgl
from kgl.datasets import (
    DataUnavailableError,
    files,
    load_sushi,
    load_swiss,
    simulate_sushi,
    simulate_swiss,
    swiss,
)

REAL = os.environ.get("KGL_DATA_DIR")
real = pytest.mark.skipif(not REAL, reason="KGL_DATA_DIR is not set: the real data are not here")

#: Reviewers who rated at least k of the 32 sushis, and the share of empty cells, in per cent.
SPARSITY = {
    0: (5000, 84.5),
    4: (4232, 83.2),
    5: (3112, 81.7),
    6: (1752, 79.6),
    7: (697, 77.2),
    8: (182, 74.6),
    9: (20, 71.3),
    10: (4, 68.8),
}
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
GROUPS = ["red-meat", "clam", "blue-skinned", "vegetable", "roe"]


@pytest.fixture
def nothing(tmp_path, monkeypatch):
    """Neither files nor a network."""
    monkeypatch.delenv("KGL_DATA_DIR", raising=False)
    monkeypatch.setenv("KGL_OFFLINE", "1")
    monkeypatch.setattr(files, "_checkout", lambda: tmp_path / "repo")
    monkeypatch.setattr(files, "_cache", lambda: tmp_path / "cache")
    return tmp_path


@pytest.fixture
def made_up(nothing, monkeypatch):
    """Made-up files where the real ones are expected."""
    for name, contents in (("swiss", swiss_files()), ("sushi", sushi_files())):
        monkeypatch.setitem(files.DATA_SETS, name, described(name, contents))
        write(nothing / "data" / name, contents)
    monkeypatch.setenv("KGL_DATA_DIR", str(nothing / "data"))
    return nothing / "data"


# ------------------------------------------------------------------------------------ source

LOADERS = pytest.mark.parametrize("load", [load_swiss, load_sushi])


@LOADERS
def test_auto_warns_and_returns_the_stand_in(nothing, load):
    with pytest.warns(
        UserWarning, match=r"SIMULATED STAND-IN .*KGL_OFFLINE.*by hand.*README"
    ) as seen:
        data = load()
    assert data.simulated
    assert data.origin.startswith("SIMULATED STAND-IN")
    assert Path(seen[0].filename) == Path(__file__)  # the line of the caller


@LOADERS
def test_real_or_an_error(nothing, load):
    name = load.__name__.removeprefix("load_")
    with pytest.raises(DataUnavailableError) as caught:
        load(source="real")
    assert isinstance(caught.value, FileNotFoundError)
    for part in (
        "Tried: KGL_DATA_DIR is not set",
        "by hand",
        str(nothing / "repo/data/raw" / name),
    ):
        assert part in str(caught.value)


@LOADERS
def test_simulated_does_not_look_and_does_not_warn(made_up, load, monkeypatch):
    monkeypatch.setattr(files, "search", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = load(source="simulated")
    assert data.simulated


@LOADERS
def test_unknown_source(made_up, load):
    with pytest.raises(ValueError, match="unknown source 'web'; choose one of 'auto', 'real'"):
        load(source="web")


@LOADERS
@pytest.mark.parametrize("source", ["auto", "real"])
def test_files_that_are_there_are_used(made_up, load, source):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = load(source=source)
    assert not data.simulated
    assert str(made_up.parent) not in data.origin
    for file in files.DATA_SETS[load.__name__.removeprefix("load_")].files:
        assert f"{file.name} (sha256 {file.sha256[:12]})" in data.origin
    assert "\n" not in data.origin


def test_the_package_is_cheap_to_import():
    code = (
        "import sys, kgl.datasets; "
        "heavy = {'pandas', 'scipy.io', 'pooch', 'requests', 'sklearn'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_without_pandas(made_up, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for make in (load_swiss, load_sushi, simulate_swiss, simulate_sushi):
        with pytest.raises(ImportError, match=r"needs pandas: pip install .*\[data\]"):
            make()


# ------------------------------------------------------------------------------------ form


def check_swiss(data):
    assert data.temperature.shape == (12, 89)
    assert list(data.temperature.index) == list(data.z.index) == MONTHS
    assert (data.temperature.index.name, data.temperature.columns.name) == ("month", "station")
    assert data.temperature.columns.equals(data.x.index)
    assert data.x.index.is_unique
    assert list(data.x.columns) == ["altitude", "latitude", "longitude"]
    assert (data.x.dtypes == "float64").all()
    assert (data.temperature.dtypes == "float64").all()
    assert data.z["month"].tolist() == [float(k) for k in range(1, 13)]
    assert list(data.z.columns) == ["month"]
    np.testing.assert_allclose(data.Y.mean(axis=1), 0.0, atol=1e-12)
    shift = data.temperature - data.Y  # one number a month
    np.testing.assert_allclose(shift.std(axis=1), 0.0, atol=1e-12)
    assert data.temperature.notna().all(axis=None)


def check_sushi(data):
    assert data.ratings.shape[1] == 32
    assert (data.ratings.index.name, data.ratings.columns.name) == ("reviewer", "item")
    assert data.ratings.columns.equals(data.x.index)
    assert data.ratings.columns.equals(data.groups.index)
    assert data.ratings.index.equals(data.z.index)
    assert data.ratings.columns.is_unique
    assert (data.ratings.dtypes == "float64").all()
    values = data.ratings.to_numpy()
    assert set(values[~np.isnan(values)]) <= {1.0, 2.0, 3.0, 4.0, 5.0}
    assert data.sparsity == np.isnan(values).mean()

    numbers = ["oiliness", "eaten", "price", "sold"]
    assert list(data.x.columns) == ["style", "major_group", *numbers]
    assert list(data.x["style"].cat.categories) == ["maki", "other"]
    assert list(data.x["major_group"].cat.categories) == ["seafood", "not seafood"]
    assert (data.x[numbers].dtypes == "float64").all()
    assert list(data.attributes.columns) == list(data.x.columns)
    assert (data.attributes.dtypes == "float64").all()
    assert ((data.attributes["style"] == 0) == (data.x["style"] == "maki")).all()
    assert ((data.attributes["major_group"] == 0) == (data.x["major_group"] == "seafood")).all()
    assert data.attributes[numbers].equals(data.x[numbers])

    assert list(data.groups.cat.categories) == GROUPS
    assert data.groups.cat.codes.is_monotonic_increasing
    assert data.groups.value_counts(sort=False).tolist() == [7, 6, 8, 6, 5]
    assert ((data.groups == "vegetable") == (data.x["major_group"] == "not seafood")).all()

    assert list(data.z.columns) == [
        "gender",
        "age",
        "seconds",
        "prefecture_young",
        "region_young",
        "eastwest_young",
        "prefecture_now",
        "region_now",
        "eastwest_now",
        "moved",
    ]
    levels = {name: list(c.cat.categories) for name, c in data.z.items() if c.dtype == "category"}
    assert levels == {
        "gender": ["male", "female"],
        "moved": ["no", "yes"],
        **{f"prefecture_{when}": list(range(48)) for when in ("young", "now")},
        **{f"region_{when}": list(range(12)) for when in ("young", "now")},
        **{f"eastwest_{when}": ["east", "west"] for when in ("young", "now")},
    }
    assert (data.z[["age", "seconds"]].dtypes == "float64").all()
    assert data.z.notna().all(axis=None)
    differ = data.z["prefecture_young"].astype(int) != data.z["prefecture_now"].astype(int)
    assert ((data.z["moved"] == "yes") == differ).all()


@pytest.mark.parametrize("source", ["simulated", "real"])
def test_form(made_up, source):
    check_swiss(load_swiss(source=source))
    check_sushi(load_sushi(source=source, min_rated=2))


def test_the_data_go_into_the_models(made_up):
    data = load_sushi(source="simulated", min_rated=9)
    Y = data.ratings.loc[:, data.ratings.notna().any()] - 3.5
    mixed = kgl.kernels.Mixed()
    model = kgl.KGL(density=0.2, kernel_x=mixed, kernel_z=mixed)
    model.fit(Y, x=data.x.loc[Y.columns], z=data.z)
    assert model.laplacian_.shape == (Y.shape[1],) * 2
    weather = load_swiss(source="simulated")
    some = weather.Y.iloc[:, :12]
    model = kgl.KGLN(density=0.3).fit(some, x=weather.x.iloc[:12][["altitude"]])
    assert model.laplacian_.shape == (12, 12)


# ------------------------------------------------------------------------------------ swiss


def test_swiss_values_and_names(made_up):
    """Names come from the table by position, which is in another order and has one more."""
    import scipy.io

    content = scipy.io.loadmat(made_up / "swiss" / "temperature.mat")
    data = load_swiss(source="real")
    assert list(data.x.index) == [f"Ort {k} / Täl" for k in range(89)]
    assert np.array_equal(data.temperature.to_numpy(), content["temp_records"].T)
    assert np.array_equal(data.x["altitude"], content["altitude"][:, 0])
    assert np.array_equal(data.x[["latitude", "longitude"]], content["coordinates"])
    assert content["altitude"].dtype == np.uint16


def test_swiss_without_names(made_up):
    (made_up / "swiss" / "nvrep_np8110_tre200m0_e.txt").unlink()
    data = load_swiss(source="real")
    assert list(data.x.index[[0, 88]]) == ["station 01", "station 89"]
    assert data.origin.endswith("without station names")
    check_swiss(data)


def test_swiss_coordinates():
    """The worked example in swisstopo's description, within the metre that it promises."""
    latitude, longitude = swiss.to_wgs84(np.array([700000.0]), np.array([100000.0]))[0]
    assert latitude == pytest.approx(46 + 2 / 60 + 38.87 / 3600, abs=0.03 / 3600)
    assert longitude == pytest.approx(8 + 43 / 60 + 49.79 / 3600, abs=0.03 / 3600)


def test_swiss_names_are_never_guessed():
    known = np.array([[46.0, 8.0], [47.0, 8.0]])
    assert swiss.match_names(known[::-1] + 0.01, ["a", "b"], known) == ["b", "a"]
    with pytest.raises(ValueError, match="stations 1 and 2 are both nearest to a"):
        swiss.match_names(known[[0, 0]] + [[0.0], [0.01]], ["a", "b"], known)
    with pytest.raises(ValueError, match=r"station 2 lies 11\.1 km from .* b; delete the table"):
        swiss.match_names(known + np.array([[0.0, 0.0], [0.1, 0.0]]), ["a", "b"], known)


# ------------------------------------------------------------------------------------ sushi


def test_sushi_values(made_up):
    """Against the files, read in another way."""
    folder = made_up / "sushi"
    items = pd.read_csv(folder / "sushi3.idata", sep="\t", header=None)
    people = pd.read_csv(folder / "sushi3.udata", sep="\t", header=None)
    scores = np.loadtxt(folder / "sushi3b.5000.10.score")
    data = load_sushi(source="real", min_rated=3)
    ids = [k for code in SIZES for k in items.index[items[4] == code] if k < 50]
    assert list(data.x.index) == [f"item_{k}" for k in ids]
    rated = (scores[:, ids] >= 0).sum(axis=1)
    assert list(data.ratings.index) == np.flatnonzero(rated >= 3).tolist()
    expected = np.where(scores < 0, np.nan, scores + 1)[np.ix_(data.ratings.index, ids)]
    assert np.array_equal(data.ratings.to_numpy(), expected, equal_nan=True)
    assert np.array_equal(data.attributes.to_numpy(), items.loc[ids, [2, 3, 5, 6, 7, 8]])
    codes = data.z.apply(lambda c: c.cat.codes if c.dtype == "category" else c)
    assert np.array_equal(codes, people.loc[data.z.index, 1:])


@pytest.mark.parametrize("value", [-1, 11, 8.0, "8", None, True])
def test_min_rated(nothing, value):
    for make in (load_sushi, simulate_sushi):
        with pytest.raises(ValueError, match=r"min_rated = .*; pass an integer from 0"):
            make(min_rated=value)


def test_min_rated_nests():
    everybody, some = (simulate_sushi(min_rated=k) for k in (np.int64(0), 8))
    assert list(everybody.ratings.index) == list(range(5000))
    assert everybody.ratings.loc[some.ratings.index].equals(some.ratings)
    assert everybody.z.loc[some.z.index].equals(some.z)
    assert everybody.x.equals(some.x)


# ------------------------------------------------------------------------------------ stand-ins


@pytest.mark.parametrize("seed", [0, 1])
def test_simulated_swiss(seed):
    data = simulate_swiss(seed)
    check_swiss(data)
    altitude = data.x["altitude"]
    assert (altitude.min(), altitude.max()) == (203.0, 3580.0)
    assert 600 <= altitude.median() <= 1000
    assert data.x["latitude"].between(45.8, 47.8).all()
    assert data.x["longitude"].between(6.0, 10.4).all()
    assert np.array_equal(data.temperature, data.temperature.round(1))
    slope = {m: 1000 * np.polyfit(altitude, data.temperature.loc[m], 1)[0] for m in ("Jan", "Jul")}
    assert -6.8 < slope["Jul"] < -5.5 < slope["Jan"] < -3.5
    assert data.temperature.mean(axis=1).idxmax() in ("Jul", "Aug")
    assert data.origin.startswith("SIMULATED STAND-IN")
    assert data.simulated


@pytest.mark.parametrize("seed", [0, 1])
def test_simulated_sushi(seed):
    for k, (reviewers, sparsity) in SPARSITY.items():
        data = simulate_sushi(seed, min_rated=k)
        assert len(data.ratings) == reviewers
        assert 100 * data.sparsity == pytest.approx(sparsity, abs=0.06)
    data = simulate_sushi(seed)
    check_sushi(data)
    assert data.simulated
    assert data.origin.startswith("SIMULATED STAND-IN")
    assert data.ratings.notna().any().all()  # every item is rated at the default
    shares = data.ratings.stack().value_counts(normalize=True)
    assert len(shares) == 5
    assert shares.between(0.03, 0.45).all()
    assert data.z["seconds"].between(165, 877).all()


@pytest.mark.parametrize("make", [simulate_swiss, simulate_sushi])
def test_stand_ins_depend_on_the_seed_alone(make):
    once, again, other = make(3), make(3), make(4)
    for name in ("x", "z", "temperature" if make is simulate_swiss else "ratings"):
        pd.testing.assert_frame_equal(getattr(once, name), getattr(again, name), check_exact=True)
    assert not once.x.equals(other.x)
    assert once.origin != other.origin


# ------------------------------------------------------------------------------------ real data


@pytest.fixture
def at_hand(monkeypatch):
    monkeypatch.setenv("KGL_DATA_DIR", REAL)
    monkeypatch.setenv("KGL_OFFLINE", "1")


@real
def test_real_swiss(at_hand):
    data = load_swiss(source="real")
    check_swiss(data)
    assert not data.simulated
    assert (data.x["altitude"].min(), data.x["altitude"].max()) == (203.0, 3580.0)
    temperature = data.temperature
    assert (temperature.min(axis=None), temperature.max(axis=None)) == (-13.6, 22.1)


@real
def test_real_sushi(at_hand):
    for k, (reviewers, sparsity) in SPARSITY.items():
        data = load_sushi(source="real", min_rated=k)
        assert len(data.ratings) == reviewers
        assert 100 * data.sparsity == pytest.approx(sparsity, abs=0.06)
        check_sushi(data)
