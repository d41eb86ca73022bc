"""What a fit leaves behind: no filter of warnings, and the estimator as it was where it fails."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kgl
from kgl._types import Array
from kgl.models import GraphLearner

#: Positive and skewed, so that graphs are of logarithms and data are checked twice.
SKEWED = np.exp(3 * np.random.default_rng(0).normal(size=(30, 6)))


@pytest.fixture
def hasty() -> Iterator[None]:
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def select() -> Any:
    axes: dict[str, Any] = {"lam": [0.1], "rho": [0.1], "psi": [1.0], "n_folds": 2}
    return kgl.select_held_out(kgl.KGL, SKEWED, graph="mse", **axes)


@pytest.mark.parametrize(
    "work",
    [
        lambda: kgl.KGL(psi=1.0).fit(SKEWED),
        lambda: kgl.GL(psi=1.0, solver="sparse").fit(SKEWED),
        lambda: kgl.fit_grid(kgl.KGL, SKEWED, psi=[1.0]),
        select,
    ],
    ids=["fit", "sparse", "grid", "select"],
)
@pytest.mark.usefixtures("hasty")
def test_threads_leave_the_filters_of_warnings_as_they_were(work: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        work()  # what is imported late adds filters of its own, once
        before = list(warnings.filters)
        for _ in range(5):
            threads = [threading.Thread(target=work) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert list(warnings.filters) == before


def test_the_data_are_warned_of_once_though_they_are_checked_twice() -> None:
    Y = np.column_stack([SKEWED, np.full(len(SKEWED), 2.0)])
    for _ in range(2):  # and again in the next fit
        with pytest.warns(UserWarning, match="are constant") as caught:
            kgl.KGL(psi=1.0).fit(Y)
        assert len(caught) == 1


# --- a fit that fails ---------------------------------------------------------------------------


def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return two data sets of different shapes and names."""
    rng = np.random.default_rng(1)
    first = pd.DataFrame(rng.normal(size=(20, 5)), columns=list("abcde"))
    return first, pd.DataFrame(rng.normal(size=(15, 4)), columns=list("wxyz"))


def state(model: Any) -> dict[str, Any]:
    """Return all attributes, arrays as bytes."""
    return {
        name: value.tobytes() if isinstance(value, np.ndarray) else value
        for name, value in vars(model).items()
    }


def fail_at(monkeypatch: pytest.MonkeyPatch, where: str, error: BaseException) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(where, fail)


@pytest.mark.parametrize("model", [kgl.GL, kgl.GL2Step, kgl.KGLN, kgl.KGLO, kgl.KGL])
@pytest.mark.parametrize("spoil", ["rows", "side", "numbers", "interrupt"])
def test_a_failed_fit_leaves_the_earlier_one(
    model: type[GraphLearner], spoil: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, other = tables()
    fitted = model(psi=1.0).fit(good)
    before, predicted = state(fitted), fitted.signals_.copy()
    side: dict[str, Array] = {}
    error: type[BaseException] = ValueError
    if spoil == "rows":
        other.iloc[2] = np.nan
    elif spoil == "side":
        side["K_x" if model is kgl.KGL else "z"] = np.ones((3, 3))
    elif spoil == "numbers":
        other.iloc[0, 0] = np.inf
    else:
        error = KeyboardInterrupt
        fail_at(monkeypatch, "kgl.base.solve_points", KeyboardInterrupt())
    with pytest.raises(error):
        fitted.fit(other, **side)
    assert state(fitted) == before
    assert list(fitted.feature_names_in_) == list("abcde")
    np.testing.assert_array_equal(fitted.signals_, predicted)


def test_an_interrupted_fit_with_draws_leaves_the_earlier_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = kgl.BayesianKGL(random_state=0)
    model.n_chains_, model._prior = 2, None  # as an earlier fit would set them
    before = state(model)
    fail_at(monkeypatch, "kgl.bayesian.estimator.draw_posterior", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        model.fit(tables()[0])
    assert state(model) == before


def test_rows_that_cannot_be_added_leave_those_before() -> None:
    good, other = tables()
    model = kgl.GL(psi=1.0).partial_fit(good)
    before = model.weights_.copy()
    fresh = kgl.GL(psi=1.0)
    for learner, Y in ((model, other), (model, good + np.nan), (fresh, good + np.nan)):
        known = set(vars(learner))
        with pytest.raises(ValueError, match=r"earlier rows|complete rows|feature names"):
            learner.partial_fit(Y)
        assert set(vars(learner)) == known
    np.testing.assert_array_equal(model.weights_, before)
    model.partial_fit(good)
    np.testing.assert_allclose(model.weights_, kgl.GL(psi=1.0).fit(pd.concat([good] * 2)).weights_)


def test_a_first_fit_that_fails_leaves_nothing() -> None:
    model = kgl.KGL(psi=1.0)
    before = state(model)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.full((3, 3), np.inf))
    assert state(model) == before
