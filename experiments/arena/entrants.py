"""Who takes part: a package or a model, its adapter, and the environment that the adapter needs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.dependencies import fingerprint, sources
from experiments.io import digest

__all__ = ["ADAPTERS", "ENTRANTS", "OURS", "Entrant", "environments"]

#: What the adapter of ours runs.
_KGL = ("kgl.models", "kgl.bayesian", "kgl.selection")
#: Where the adapters lie.
ADAPTERS = Path(__file__).with_name("peers")


@dataclass(frozen=True)
class Entrant:
    """An entrant of the arena.

    Attributes
    ----------
    label : str
        As it is called in figure and text.
    about : str
        What graph it returns, and what is tuned.
    script : str
        Its adapter, and perhaps an argument.
    environment : str
        The list of packages in ``peers/`` that it needs; empty for the environment of the project.
    own : str
        Its own rule of tuning, empty if it has none.
    grid : str
        What the tuning values are, empty if there is nothing to tune.
    ours : bool
        Whether it is a model of this repository.
    x : str
        What it does with covariates of nodes: it ``takes`` or ``needs`` them, or nothing.
    locked : bool
        Whether the environment of the project will do where its own is absent.
    """

    label: str
    about: str
    script: str
    environment: str = ""
    own: str = ""
    grid: str = ""
    ours: bool = False
    x: str = ""
    locked: bool = False

    @property
    def file(self) -> Path:
        """The adapter."""
        return ADAPTERS / self.script.split()[0]

    @property
    def answers(self) -> tuple[str, ...]:
        """The ways of tuning that it answers, but for the tuning values."""
        return ("default", "own") if self.own else ("default",)

    def names(self, values: int) -> list[str]:
        """Return the names of all its answers."""
        return [*self.answers, *(f"grid-{k}" for k in range(values if self.grid else 0))]

    def command(self) -> Sequence[str] | None:
        """Return how the adapter is called; None if what it needs is not installed."""
        program: str | None
        if self.script.split()[0].endswith(".R"):
            program = shutil.which("Rscript")
        elif not self.environment:
            program = sys.executable
        else:
            places = (environments() / self.environment / name for name in ("bin", "Scripts"))
            found = [place / "python" for place in places if (place / "python").exists()]
            program = str(found[0]) if found else sys.executable if self.locked else None
        script, *more = self.script.split()
        return None if program is None else [program, str(ADAPTERS / script), *more]

    def source(self) -> str:
        """Return a name for the contents of its adapter: an edit runs its jobs again."""
        files = [self.file, *([] if self.file.suffix == ".R" else [ADAPTERS / "adapter.py"])]
        files += [ADAPTERS / "adapter.R"] if self.file.suffix == ".R" else []
        # the adapter of ours imports this repository as it is
        own = fingerprint(sources(*_KGL)) if self.ours else ""
        return digest([self.script, own, *(file.read_text(encoding="utf-8") for file in files)])


def environments() -> Path:
    """Return the directory of the environments: ``KGL_ARENA``, or ``.arena`` in the checkout."""
    return Path(os.environ.get("KGL_ARENA") or ADAPTERS.parents[2] / ".arena")


_DENSITY = "density, 0.5 to 0.02"
_LAM = "lam, 1e-4 to 1, at densities of 0.3 and 0.1"
_PENALTY = "penalty, as shares of the largest correlation"
_HELD_OUT = "held-out entries (select_held_out)"
#: All entrants by name: ours first, then graphs without learning, Python and R packages.
ENTRANTS = {
    "gl": Entrant(
        "GL", "one graph step, total weight fixed", "run_kgl.py gl", grid=_DENSITY, ours=True
    ),
    "log_degree": Entrant(
        "GL, log-degree", "one graph step with a barrier of degrees", "run_kgl.py log_degree",
        grid=_DENSITY, ours=True,
    ),
    "gl2step": Entrant(
        "GL-2step", "graph and signals, gaps are zeros", "run_kgl.py gl2step", grid=_DENSITY,
        ours=True,
    ),
    "kgln": Entrant("KGL-N", "covariates of nodes", "run_kgl.py kgln", own=_HELD_OUT,
                    grid=_LAM, ours=True, x="takes"),
    "kglo": Entrant("KGL-O", "times of rows", "run_kgl.py kglo", own=_HELD_OUT, grid=_LAM,
                    ours=True),
    "kgl": Entrant("KGL", "covariates of nodes and times of rows", "run_kgl.py kgl",
                   own=_HELD_OUT, grid=_LAM, ours=True, x="takes"),
    "kglagnostic": Entrant("KGL-agnostic", "no covariates", "run_kgl.py kglagnostic",
                           own=_HELD_OUT, grid=_LAM, ours=True),
    "bayesian": Entrant("BayesianKGL", "probabilities of edges; nothing is tuned",
                        "run_kgl.py bayesian", ours=True, x="takes"),
    "correlation": Entrant("correlation", "absolute correlations over shared rows",
                           "run_simple.py correlation"),
    "knn": Entrant("k nearest columns", "exp(-distance) of standardised columns",
                   "run_simple.py columns", grid="k, 1 to 40"),
    "knn_x": Entrant("k nearest covariates", "the same of covariates, without the data",
                     "run_simple.py covariates", grid="k, 1 to 40", x="needs"),
    "sklearn": Entrant(
        "scikit-learn GraphicalLasso", "partial correlations", "run_sklearn.py", "sklearn",
        own="GraphicalLassoCV", grid=_PENALTY, locked=True,
    ),
    "skglm": Entrant("skglm", "partial correlations of its graphical lasso", "run_skglm.py",
                     "skglm", grid=_PENALTY),
    "gglasso": Entrant("GGLasso", "partial correlations", "run_gglasso.py", "gglasso",
                       own="extended BIC", grid=_PENALTY),
    "pyhuge": Entrant(
        "pyhuge", "neighbourhood selection; by rule and tuned: the graphical lasso",
        "run_pyhuge.py", "pyhuge", own="extended BIC", grid=_PENALTY,
    ),
    "regain": Entrant("regain", "partial correlations", "run_regain.py", "regain",
                      grid=_PENALTY),
    "gmgm": Entrant("GmGM", "partial correlations, with a graph of rows", "run_gmgm.py", "gmgm"),
    "pygsp2": Entrant("pygsp2", "log-degree graph", "run_pygsp2.py", "pygsp2",
                      grid="b, 0.01 to 100", locked=True),
    "lts4": Entrant("LTS4 graph-learning", "log-degree graph", "run_lts4.py", "lts4",
                    grid="average degree, as our densities"),
    "botorch": Entrant(
        "BoTorch LatentKroneckerGP", "partial correlations of its covariance of nodes",
        "run_botorch.py", "botorch", x="takes",
    ),
    "huge": Entrant(
        "huge (R)", "neighbourhood selection; by rule and tuned: the graphical lasso",
        "run_huge.R", own="extended BIC", grid=_PENALTY,
    ),
    "qgraph": Entrant("qgraph (R)", "partial correlations", "run_qgraph.R", own="extended BIC",
                      grid=_PENALTY),
    "bdgraph": Entrant("BDgraph (R)", "probabilities of edges; nothing is tuned",
                       "run_bdgraph.R"),
}  # fmt: skip
#: The models of this repository.
OURS = tuple(name for name, entrant in ENTRANTS.items() if entrant.ours)
