"""From a study to its cells: which data are drawn, which model is fitted, at which grid points.

A *study* is a figure: families of graphs, models for each kind of data, and a sweep. A *cell* is
one point of it for one model, with all replicates. It is named by what it holds, so studies that
share a cell share its files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any, TypedDict

from experiments.config import (
    Composed,
    Values,
    compose,
    last_of_each,
    option,
    options,
    override_key,
)
from experiments.datasets.real import choose_source
from experiments.lookup import ConfigError
from experiments.registry import PROTOCOLS, STANDIN, STANDIN_SUFFIX, of_protocol
from experiments.schema import check

__all__ = ["Cell", "DataSpec", "FitSpec", "Study", "read_study", "single_cell"]


class DataSpec(TypedDict):
    """What decides the arrays of a dataset."""

    make: str
    seed: int
    replicates: int
    graph: dict[str, Any]
    data: dict[str, Any]


class FitSpec(TypedDict, total=False):
    """What decides a fit, given its data."""

    estimator: str
    grid: dict[str, list[float]]
    options: dict[str, Any]
    fit: dict[str, Any]
    keep: list[str]
    cut: float
    decimals: int
    held_out: dict[str, float]


@dataclass(frozen=True)
class Cell:
    """One dataset and one model."""

    name: str
    dataset: str
    model: str
    labels: dict[str, Any] = field(hash=False)
    data: DataSpec = field(hash=False)
    fit: FitSpec = field(hash=False)
    reason: str = ""  # why simulated data replace real ones

    @property
    def cost(self) -> float:
        """Seconds that the fit takes, roughly: enough to weigh cells against each other."""
        points = prod(len(values) for values in self.fit["grid"].values())
        data = self.data["data"]
        masked = (data["missing"] > 0 or "files" in data) and "rho" in self.fit["grid"]
        three = "lam" in self.fit["grid"]
        per_point = (4e-3 if masked and three else 4e-4) * (self.data["graph"]["m"] / 20) ** 2
        fits = 1 + self.fit.get("held_out", {}).get("folds", 0)
        return float(0.2 + self.data["replicates"] * points * per_point * fits)

    @property
    def simulated(self) -> bool:
        """Whether simulated data replace real ones."""
        return bool(self.data["data"].get("source") == "simulated")


@dataclass(frozen=True)
class Study:
    """A figure and its cells."""

    name: str
    config: dict[str, Any] = field(hash=False)
    cells: tuple[Cell, ...] = field(hash=False)
    settings: dict[str, Any] = field(hash=False)
    protocol: str = ""  # the one it is made under; empty where none bears on it

    @property
    def caption(self) -> str:
        """What the figure shows, with the settings behind it, in one paragraph."""
        about = f"{self.config['title']}. {' '.join(self.config['caption'].split())}"
        if not self.cells:
            return about
        known = self.settings
        replicates = f"{known['replicates']} replicate{'s' * (known['replicates'] > 1)}"
        families = f" of each of {len(self.config['graph'])} families"
        alpha = f"alpha = {known['alpha']}, " * bool(known["alpha"])
        credit = f"Data: {known['credit']}. " * bool(known["credit"] and not self.simulated)
        chosen = PROTOCOLS.get(self.protocol)
        protocol = (
            f"Protocol {self.protocol}{f' ({chosen})' if chosen else ''}: {known['levels']}. "
        )
        return (
            f"{f'{STANDIN}, no real data. ' * self.simulated}{about} "
            f"{protocol * bool(self.protocol)}{credit}Settings: "
            f"{replicates}{families * bool(self.config.get('pool'))}, m = {known['m']}, "
            f"n = {known['n']}, {alpha}grids of up to {known['points']} points."
        )

    @property
    def number(self) -> int | None:
        """Return the number of the figure in the paper, if it is one of the paper's."""
        number = self.option.removeprefix("fig")
        return int(number) if number.isdigit() else None

    @property
    def option(self) -> str:
        """Return its option of conf/study: its name without the protocol."""
        return self.name.removesuffix(f"-{self.protocol}") if self.protocol else self.name

    @property
    def simulated(self) -> bool:
        """Whether any of it is made from simulated data that replace real ones."""
        return any(cell.simulated for cell in self.cells)

    @property
    def score(self) -> dict[str, Any]:
        """How grid points are selected and scored; nothing where there are no cells."""
        if not self.cells:
            return {}
        protocol = self.settings["protocol"]
        points = bool(self.config.get("points"))
        return {**protocol["score"], "folds": protocol["fit"]["folds"], "points": points}


def read_study(
    name: str,
    extra: Sequence[str] = (),
    given: Sequence[str] = (),
    source: str | None = None,
    protocol: str = "",
) -> Study:
    """Return a study with its cells.

    Parameters
    ----------
    name : str
        An option of conf/study that has cells.
    extra, given : sequence of str
        Overrides of a collection, and the user's; the study's own come first, so that the user's
        are in force.
    source : str, optional
        Where real data come from, instead of where their configuration has it.
    protocol : str
        An option of conf/protocol, which becomes part of the names of the study and of its cells;
        empty for the one of conf/config.yaml.
    """
    own = option("study", name).get("overrides", ())
    if protocol and (others := [t for t in (*own, *extra) if override_key(t) == "protocol"]):
        raise ConfigError(
            f"protocol = {protocol!r}: conf/study/{name}.yaml, or its collection, has the override "
            f"{others[-1]!r}; leave one out"
        )
    chosen = [f"protocol={protocol}"] * bool(protocol)
    settings = _with_grid(last_of_each((*chosen, *own, *extra, *given)), protocol)
    composed = compose([f"study={name}", *(t for t in settings if not _of_cells(t))])
    config = composed.values()["study"]
    _refuse_swept(composed, config, settings, given)
    common = [text for text in settings if _of_cells(text)]
    made = [
        (values, _cell(values, level, groups, config, protocol))
        for groups, values, level in _each(composed, config, common, source)
    ]
    cells = tuple(cell for _, cell in made)
    return Study(of_protocol(name, protocol), config, cells, _settings(made), protocol)


def _with_grid(settings: Sequence[str], protocol: str) -> tuple[str, ...]:
    """Choose the file of a grid that is made for a protocol, ``noise-printed``, where there is one.

    Hyperparameters go with the scale of the signals, so that one range does not suit all.
    """
    grids = [text for text in settings if override_key(text) == "grid"]
    name = grids[0].partition("=")[2].strip() if grids else compose([]).choices["grid"]
    if f"{name}-{protocol}" not in options("grid"):
        return tuple(settings)
    return (*(text for text in settings if text not in grids), f"grid={name}-{protocol}")


def _of_cells(override: str) -> bool:
    return override_key(override).partition(".")[0] in ("graph", "data", "model")


def _each(
    composed: Composed, config: dict[str, Any], overrides: Sequence[str], source: str | None
) -> Iterator[tuple[tuple[str, str, str], Values, dict[str, Any]]]:
    """Yield the option of each group, the values and the level of every cell of a study."""
    once, first = config.get("once", {}), config.get("first_graph", {})
    for key, kind in [("once", k) for k in once] + [("first_graph", k) for k in first]:
        if kind not in config["models"]:
            raise ConfigError(
                f"{composed.file('study')}: study.{key} names the data {kind!r}, which "
                f"study.models does not have; valid: {', '.join(config['models'])}"
            )
    levels = [
        dict(zip(config["sweep"], level, strict=True))
        for level in product(*config["sweep"].values())
    ]
    for graph, data in product(config["graph"], config["models"]):
        further = first.get(data, []) if graph == config["graph"][0] else []
        for model in [*config["models"][data], *once.get(data, []), *further]:
            placed = composed.place(
                {"graph": graph, "data": data, "model": model, "study": None}, overrides
            )
            for level in levels[:1] if model in once.get(data, []) else levels:
                values = placed.values(level)
                if source is not None and "files" in values["data"]:
                    values["data"]["source"] = source
                    check(values, placed.blame)
                yield (graph, data, model), values, level


def _refuse_swept(
    composed: Composed, config: dict[str, Any], settings: Sequence[str], given: Sequence[str]
) -> None:
    """Refuse an override of a key that the study sweeps over: it would have no effect."""
    kind, models = next(iter(config["models"].items()))
    first = {"graph": config["graph"][0], "data": kind, "model": models[0]}
    others = [text for text in settings if _of_cells(text) and text not in given]
    before = composed.place(first, others).leaves
    for text in given:
        key = override_key(text)
        if key == "study.overrides":
            raise ConfigError(f"override {text!r}: give its texts as overrides themselves")
        for swept in config["sweep"]:
            # a key that only repeats a swept one is swept too
            if key == swept or before.get(key) == f"${{{swept}}}":
                raise ConfigError(
                    f"override {text!r}: {composed.file('study')} sweeps over {swept}, which sets "
                    f"{key}; override the levels instead, as in "
                    f"'levels.{swept.rpartition('.')[2]}=[...]'"
                )


def _cell(
    values: Values,
    level: Mapping[str, Any],
    groups: tuple[str, str, str],
    study: dict[str, Any],
    protocol: str = "",
) -> Cell:
    graph, data, model = groups
    short = {key.rpartition(".")[2]: value for key, value in level.items()}
    if len(short) < len(level):
        raise ConfigError(
            f"sweep over {', '.join(level)}: the last parts of these keys must differ"
        )
    reason = ""
    if "files" in values["data"]:
        chosen = choose_source(values["data"]["files"], values["data"]["source"])
        values["data"]["source"], reason = chosen
    variant = "".join(f"-{part}" for part in (study.get("variant"), protocol) if part)
    standin = STANDIN_SUFFIX * (values["data"].get("source") == "simulated")
    levels = "_".join(f"{key}-{value}" for key, value in short.items())
    dataset = f"{graph}-{data}{variant}{standin}/{levels}"
    sweep, value = list(short.items())[-1]
    labels = {"graph": graph, "data": data, "sweep": sweep, "level": value}
    labels |= {"m": values["graph"]["m"]}
    labels |= {name: values["data"][name] for name in ("n", "noise", "missing")}
    labels |= {k: v for k, v in short.items() if k not in labels and k != sweep}
    labels["model"] = model
    return Cell(
        f"{dataset}/{model}", dataset, model, labels, _data(values), _fit(values, study), reason
    )


def _data(values: Values) -> DataSpec:
    dropped = ("label", "make", "credit")
    return {
        "make": values["data"]["make"],
        "seed": values["seed"],
        "replicates": values["replicates"],
        "graph": {k: v for k, v in values["graph"].items() if k != "label"},
        "data": {k: v for k, v in values["data"].items() if k not in dropped},
    }


def _fit(values: Values, study: dict[str, Any]) -> FitSpec:
    protocol = dict(values["protocol"]["fit"])
    density, cut, folds, decimals = (
        protocol.pop(name) for name in ("density", "cut", "folds", "decimals")
    )
    grid = values["model"]["grid"]
    if density is not None:  # densities take the place of psi
        grid = {"density" if k == "psi" else k: density if k == "psi" else v
                for k, v in grid.items()}  # fmt: skip
    fit: FitSpec = {
        "estimator": values["model"]["estimator"],
        "grid": grid,
        "options": values["model"]["options"],
        "fit": protocol,
        "keep": study.get("keep", []),
    }
    if cut is not None:
        fit["cut"] = cut
    if decimals is not None:
        fit["decimals"] = decimals
    if folds:
        compared = values["protocol"]["score"]["cv_density"]
        fit["held_out"] = {"folds": folds, "density": compared}
    return fit


def single_cell(composed: Composed) -> Cell:
    """Return the one cell that a configuration without a study describes."""
    values, choices = composed.values(), composed.choices
    level = {"data.noise": values["data"]["noise"], "data.missing": values["data"]["missing"]}
    groups = (str(choices["graph"]), str(choices["data"]), str(choices["model"]))
    return _cell(values, level, groups, {})


def _levels(data: Mapping[str, Any]) -> str:
    """Return what a noise level is, and the scale s of the signals' kernel."""
    what = "standard deviation" if data["noise_axis"] == "deviation" else "variance"
    scale = data["scale"] / data["alpha"] if data["alpha"] else data["scale"]
    return f"a noise level is a {what}, and K_x is about {scale:g} times the pseudoinverse of L"


def _settings(made: Sequence[tuple[Values, Cell]]) -> dict[str, Any]:
    """Gather the settings of a study for its caption: one value, or those of a sweep."""
    known: list[Any] = [values for values, _ in made]

    def listed(group: str, key: str) -> str:
        found = sorted({values[group][key] for values in known if key in values[group]})
        return ", ".join(f"{value:g}" for value in found)

    return {
        "replicates": known[0]["replicates"],
        "m": listed("graph", "m"),
        "n": listed("data", "n"),
        "alpha": listed("graph", "alpha"),
        "levels": _levels(known[0]["protocol"]["data"]),
        "points": max(prod(len(v) for v in cell.fit["grid"].values()) for _, cell in made),
        "credit": known[0]["data"].get("credit", ""),
        "protocol": known[0]["protocol"],
        "labels": {
            group: {cell.labels[group]: values[group]["label"] for values, cell in made}
            for group in ("graph", "data")
        },
    }
