"""The export for ArviZ, whose ``from_dict`` changed with version 1.0."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kgl

DATA = kgl.simulate.make_dataset("er", m=5, n=20, seed=8)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def old_from_dict(posterior: Any = None, *, prior: Any = None) -> Any:
    """Take groups as keywords, as ArviZ did up to 0.23."""
    return {"posterior": posterior, "prior": prior}


def new_from_dict(data: Any, *, name: str | None = None) -> Any:
    """Take one dict of groups, as ArviZ does from 1.0 on."""
    return {**data, "name": name}


@pytest.mark.parametrize("from_dict", [old_from_dict, new_from_dict])
def test_both_interfaces_get_the_draws(from_dict: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arviz", SimpleNamespace(from_dict=from_dict))
    model = kgl.BayesianKGL(n_chains=3, n_warmup=2, n_draws=6).fit(DATA.Y)
    posterior = model.to_arviz()["posterior"]
    assert np.shape(posterior["noise"]) == (3, 6)
    assert np.shape(posterior["edge_probability"]) == (3, 6, 10)
    p = model.edge_probability_[np.triu_indices(5, 1)]
    np.testing.assert_allclose(np.mean(posterior["edge_probability"], axis=(0, 1)), p)


def test_without_arviz_it_is_a_dict_of_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arviz", None)  # an import then fails
    model = kgl.BayesianKGL(n_chains=3, n_warmup=2, n_draws=6).fit(DATA.Y)
    assert list(model.to_arviz()) == ["posterior"]


def test_installed_arviz_computes_its_figures() -> None:
    arviz = pytest.importorskip("arviz")
    model = kgl.BayesianKGL(n_chains=3, n_warmup=2, n_draws=10).fit(DATA.Y)
    assert np.isfinite(float(arviz.rhat(model.to_arviz())["noise"]))
