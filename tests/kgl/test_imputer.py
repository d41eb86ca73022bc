"""KGLImputer in scikit-learn's conventions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import kgl

DATA = kgl.simulate.make_dataset("er", m=8, n=60, missing=0.2)


def test_the_rows_of_the_fit_get_the_fitted_signals() -> None:
    imputer = kgl.KGLImputer().fit(DATA.Y)
    model = kgl.KGL(density=4 / 7).fit(DATA.Y)
    assert np.allclose(imputer.transform(DATA.Y), model.impute(DATA.Y))
    assert np.array_equal(imputer.fit_transform(DATA.Y), imputer.transform(DATA.Y))


def test_new_rows_are_filled_given_the_graph() -> None:
    """Rows are independent without K_z, so a row of the fit is filled as a new one is."""
    imputer = kgl.KGLImputer().fit(DATA.Y)
    some = DATA.Y[10:20]
    assert np.allclose(imputer.transform(some), imputer.transform(DATA.Y)[10:20], atol=1e-6)
    empty = np.full((1, 8), np.nan)
    assert np.allclose(imputer.transform(empty), np.nanmean(DATA.Y, axis=0))


def test_new_rows_with_a_singular_node_kernel() -> None:
    x = np.repeat(np.arange(4.0), 2)
    estimator = kgl.KGLN(kernel_x=kgl.kernels.RBF(gamma=0.1))
    imputer = kgl.KGLImputer(estimator=estimator).fit(DATA.Y, x=x)
    assert np.allclose(imputer.transform(DATA.Y[:5]), imputer.transform(DATA.Y)[:5], atol=1e-6)


def test_it_stands_in_a_pipeline_and_keeps_names() -> None:
    frame = pd.DataFrame(DATA.Y, columns=list("abcdefgh"))
    target = DATA.Y_full.sum(axis=1)
    pipeline = make_pipeline(kgl.KGLImputer(), LinearRegression())
    assert cross_val_score(pipeline, frame, target, cv=3).mean() > 0.3
    filled = kgl.KGLImputer().set_output(transform="pandas").fit_transform(frame)
    assert list(filled.columns) == list("abcdefgh")
    assert list(kgl.KGLImputer().fit(DATA.Y).get_feature_names_out()) == [f"x{k}" for k in range(8)]
    assert clone(kgl.KGLImputer(estimator=kgl.KGLN())).estimator is not None


def test_the_score_is_one_minus_the_error_relative_to_means() -> None:
    alike = np.random.default_rng(0).normal(size=(50, 1)) * np.ones(12)
    noise = np.random.default_rng(0).normal(size=(50, 12))
    assert kgl.KGLImputer().score(alike + 0.1 * noise) > 0.7
    assert kgl.KGLImputer().score(noise) < 0.2


def test_models_without_signals_are_refused() -> None:
    with pytest.raises(ValueError, match="GL fits no signals"):
        kgl.KGLImputer(estimator=kgl.GL()).fit(DATA.Y)
