"""The estimators among scikit-learn's: its own checks, clones, parameters, pickles.

Two rounds of scikit-learn's checks. The first runs all of them on the estimators as they are; those
that call ``predict`` with rows of Y do not apply, because ``predict`` takes covariates. The second
runs all of them on the estimators without ``predict``, so that what these checks say about ``fit``
is checked after all, and none may fail.
"""

from __future__ import annotations

import io
import pickle
from typing import Any, NoReturn

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from kgl import GL, KGL, KGLN, KGLO, GL2Step, KGLAgnostic
from kgl._types import Array
from kgl.kernels import RBF, Mixed
from kgl.models import GraphLearner
from kgl.simulate import make_dataset

MODELS = (GL, GL2Step, KGLN, KGLO, KGL, KGLAgnostic)
DATA = make_dataset("er", m=6, n=15, dependent=True, noise=0.1, missing=0.2)

every_model = pytest.mark.parametrize("model", MODELS)

_COVARIATES = "predict(z, x) takes covariates of new observations and nodes, not rows of Y"
#: Checks that do not apply to a graph learner. That one of them passes is an error too.
NOT_APPLICABLE = {
    "check_dict_unchanged": _COVARIATES,
    "check_dtype_object": _COVARIATES,
    "check_estimators_dtypes": _COVARIATES,
    "check_estimators_pickle": _COVARIATES,
    "check_f_contiguous_array_estimator": _COVARIATES,
    "check_fit2d_predict1d": _COVARIATES,
    "check_fit_idempotent": _COVARIATES,
    "check_methods_sample_order_invariance": _COVARIATES,
    "check_methods_subset_invariance": _COVARIATES,
    "check_n_features_in_after_fitting": _COVARIATES,
}


class FitOnly:
    """Hides ``predict``."""

    @property
    def predict(self) -> NoReturn:
        raise AttributeError("hidden")


# by name in this module, where pickle looks for them
FIT_ONLY = [type(f"{m.__name__}FitOnly", (FitOnly, m), {"__module__": __name__}) for m in MODELS]
globals().update({m.__name__: m for m in FIT_ONLY})


@every_model
def test_scikit_learn_checks(model: type[GraphLearner]) -> None:
    # one test a model: pytest takes a while to write down each of the expected failures
    results = check_estimator(
        model(), expected_failed_checks=NOT_APPLICABLE, on_skip=None, on_fail=None
    )
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert failed == {}
    # the list is no longer than it must be
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == set(NOT_APPLICABLE)
    assert len([r for r in results if r["status"] == "passed"]) > 25


@parametrize_with_checks([model() for model in FIT_ONLY])
def test_scikit_learn_checks_of_fit(estimator: Any, check: Any) -> None:
    check(estimator)


# ------------------------------------------------------------------- what those ten leave to say


def sides(model: type[GraphLearner]) -> dict[str, Array]:
    fields = model().get_params()
    known = {"K_x": DATA.K_x, "K_z": DATA.K_z}
    return {name: K for name, K in known.items() if f"kernel_{name[-1]}" in fields}


@every_model
def test_a_second_fit_gives_the_same_and_predict_changes_nothing(
    model: type[GraphLearner],
) -> None:
    fit = model(psi=0.1).fit(DATA.Y, **sides(model))
    first = {name: np.copy(getattr(fit, name)) for name in ("weights_", "signals_")}
    keys = set(vars(fit))
    fit.predict()
    if model is not GL:
        fit.predict(**sides(model))
    fit.coefficients()
    assert set(vars(fit)) == keys
    fit.fit(DATA.Y, **sides(model))
    for name, value in first.items():
        assert np.array_equal(getattr(fit, name), value)


@every_model
def test_the_type_and_layout_of_the_data_do_not_matter(model: type[GraphLearner]) -> None:
    Y = np.round(4.0 * DATA.Y_full)
    expected = model(psi=0.1).fit(Y, **sides(model))
    for same in (
        np.asfortranarray(Y),
        Y.astype(object),
        Y.astype(np.float32),
        Y.astype(int),
        Y.tolist(),
        pd.DataFrame(Y).astype(int),
    ):
        fit = model(psi=0.1).fit(same, **sides(model))
        assert np.allclose(fit.weights_, expected.weights_, atol=1e-12)
        assert fit.signals_.dtype == fit.weights_.dtype == np.float64


# ------------------------------------------------------------------------- parameters and clones

SETTINGS: dict[str, Any] = {
    "psi": 0.7,
    "average": True,
    "regularizer": "log-degree",
    "barrier": 2.0,
    "forbidden_edges": [(0, 1)],
    "edge_penalty": np.ones((6, 6)),
    "tol": 1e-3,
    "max_iter": 17,
}


@every_model
def test_parameters_make_the_round_trip(model: type[GraphLearner]) -> None:
    built = model(**SETTINGS)
    params = built.get_params()
    for name, value in SETTINGS.items():
        assert params[name] is value
    assert model(**params).get_params() == params
    other = model()
    assert other.get_params()["psi"] is None
    assert other.set_params(**params) is other
    assert other.get_params() == params
    assert {"lam", "rho"} & params.keys() == {"lam", "rho"} & set(model._spec.hyperparameters)
    with pytest.raises(ValueError, match=r"Invalid parameter 'gamma' for estimator"):
        other.set_params(gamma=1.0)
    with pytest.raises(TypeError, match="positional argument"):
        model(0.1)


@every_model
def test_clones_are_equal_and_not_fitted(model: type[GraphLearner]) -> None:
    fit = model(**SETTINGS).fit(DATA.Y, **sides(model))
    copy = clone(fit)
    assert isinstance(copy, model)
    assert isinstance(copy, BaseEstimator)
    assert not [name for name in vars(copy) if name.endswith("_")]
    before, after = fit.get_params(), copy.get_params()
    assert before.keys() == after.keys()
    for name, value in before.items():
        np.testing.assert_equal(after[name], value)
    assert after["edge_penalty"] is not before["edge_penalty"]
    assert np.array_equal(copy.fit(DATA.Y, **sides(model)).weights_, fit.weights_)


def test_kernels_are_parameters_like_any_other() -> None:
    model = KGL(psi=0.1, kernel_x=RBF(gamma=2.0), kernel_z=Mixed())
    assert clone(model).kernel_x == RBF(gamma=2.0)
    assert model.set_params(kernel_x="linear").get_params()["kernel_x"] == "linear"


# ---------------------------------------------------------------------------------------- pickles


def through_pickle(fit: GraphLearner) -> Any:
    return pickle.loads(pickle.dumps(fit))


def through_joblib(fit: GraphLearner) -> Any:
    buffer = io.BytesIO()
    joblib.dump(fit, buffer)
    buffer.seek(0)
    return joblib.load(buffer)


@every_model
@pytest.mark.parametrize("trip", [through_pickle, through_joblib])
def test_fitted_models_survive_storage(model: type[GraphLearner], trip: Any) -> None:
    frame = pd.DataFrame(DATA.Y, columns=list("abcdef"))
    fit = model(psi=0.1).fit(frame, **sides(model))
    back = trip(fit)
    assert type(back) is model
    assert back.get_params() == fit.get_params()
    assert back.node_names_ == list("abcdef")
    for name in ("weights_", "laplacian_", "edge_scores_", "signals_", "history_"):
        assert np.array_equal(getattr(back, name), getattr(fit, name))
    for name in ("objective_", "n_iter_", "converged_", "psi_", "kkt_residual_"):
        assert getattr(back, name) == getattr(fit, name)
    assert np.array_equal(back.predict(), fit.predict())
    assert np.array_equal(back.coefficients(), fit.coefficients())
    if model is not GL:
        assert np.array_equal(back.predict(**sides(model)), fit.predict(**sides(model)))
        pd.testing.assert_frame_equal(back.impute(frame), fit.impute(frame))


@pytest.mark.parametrize("trip", [through_pickle, through_joblib])
def test_covariates_survive_storage(trip: Any) -> None:
    rng = np.random.default_rng(1)
    x = pd.DataFrame({"height": rng.random(6), "kind": list("aabbcc")})
    z = np.arange(15.0)
    fit = KGL(psi=0.1, kernel_x="mixed").fit(DATA.Y, x=x, z=z)
    back = trip(fit)
    new_x = pd.DataFrame({"height": [0.5, 0.1], "kind": ["a", "c"]})
    assert np.array_equal(back.predict(z=[2.5, 7.5], x=new_x), fit.predict(z=[2.5, 7.5], x=new_x))
