"""Reading ``conf/``: compose with Hydra, check against the schema, say what is wrong and where.

A configuration is composed from one option of each group and from overrides in Hydra's syntax,
``data.noise=0.5``. What comes out is a plain dictionary without references.
"""

from __future__ import annotations

import copy
import difflib
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from kgl._optional import import_optional

__all__ = [
    "GROUPS",
    "Composed",
    "ConfigError",
    "check",
    "compose",
    "conf_dir",
    "options",
    "resolve",
]

#: Groups of ``conf/``, each a directory with one file per option.
GROUPS = ("protocol", "grid", "graph", "data", "model", "study")


class ConfigError(ValueError):
    """A configuration that cannot be used; the message names the key, the file and the remedy."""


def conf_dir() -> Path:
    """Return the directory of the configuration: ``KGL_CONF``, or ``conf/`` of the repository."""
    named = os.environ.get("KGL_CONF")
    path = Path(named) if named else Path(__file__).resolve().parents[2] / "conf"
    if not (path / "config.yaml").is_file():
        raise ConfigError(
            f"no config.yaml in {path}; the studies live in a checkout of the repository, not in "
            "the installed package: run from a checkout, or set KGL_CONF to its conf directory"
        )
    return path.resolve()


def options(group: str) -> list[str]:
    """Return the options of a group."""
    return sorted(path.stem for path in (conf_dir() / group).glob("*.yaml"))


@dataclass(frozen=True, eq=False)
class Composed:
    """One configuration: Hydra's object, and the option of each group."""

    config: Any
    choices: dict[str, str | None]
    overrides: tuple[str, ...]

    def values(self, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return plain values, with some keys set first and references resolved after that."""
        settings = dict(settings or {})
        for key in settings:
            if key not in self.keys:
                raise ConfigError(f"sweep over {key!r}, which is no key; {_near(key, self.keys)}")
        # Resolving references is slow; where none leads to a key, the key can be set afterwards.
        referred = {k: v for k, v in settings.items() if f"${{{k}}}" in self.text}
        values: dict[str, Any] = copy.deepcopy(self._resolved(tuple(referred.items())))
        for key, value in settings.items():
            *parents, name = key.split(".")
            place = values
            for parent in parents:
                place = place[parent]
            place[name] = value
        check(values, self)
        return values

    @cached_property
    def text(self) -> str:
        """The configuration as YAML, references not resolved."""
        from omegaconf import OmegaConf

        return str(OmegaConf.to_yaml(self.config))

    @cached_property
    def keys(self) -> list[str]:
        """Dotted names of all values."""
        from omegaconf import OmegaConf

        plain: Any = OmegaConf.to_container(self.config)
        return _keys(plain)

    @cache  # noqa: B019  (configurations are few, and kept anyway)
    def _resolved(self, settings: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
        from omegaconf import OmegaConf

        config = self.config.copy()
        for key, value in settings:
            OmegaConf.update(config, key, value)
        values: Any = OmegaConf.to_container(config, resolve=True)
        return dict(values)

    def file(self, group: str) -> str:
        """Return the file that holds a group, as a reader would name it."""
        choice = self.choices.get(group)
        return f"conf/{group}/{choice}.yaml" if choice else "conf/config.yaml"


def _keys(values: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return the dotted names of all leaves."""
    names: list[str] = []
    for key, value in values.items():
        inside = isinstance(value, Mapping) and value
        names += _keys(value, f"{prefix}{key}.") if inside else [f"{prefix}{key}"]
    return names


def _near(given: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(given, known, n=1, cutoff=0.6)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}valid: {', '.join(known)}" if known else "no key is valid there"


@cache
def _compose(overrides: tuple[str, ...], conf: str) -> Composed:
    hydra = import_optional("hydra", "workflow", "the replication")
    from hydra.errors import HydraException
    from omegaconf import OmegaConf, open_dict
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    try:
        with hydra.initialize_config_dir(conf, version_base="1.3"):
            config = hydra.compose("config", overrides=list(overrides), return_hydra_config=True)
            chosen = dict(config.hydra.runtime.choices)
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(_explain(error, overrides, conf)) from None
    except YAMLError as error:
        raise ConfigError(f"not valid YAML: {error}") from None
    with open_dict(config):
        del config["hydra"]
    choices = {group: chosen.get(group) for group in GROUPS}
    OmegaConf.set_struct(config, False)
    return Composed(config, choices, overrides)


def _explain(error: Exception, overrides: tuple[str, ...], conf: str) -> str:
    """Say what Hydra objects to in terms of keys, files and valid choices."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    unknown = re.search(r"Could not override '([^']+)'", str(error))
    if unknown:
        key = unknown[1].lstrip("+~")
        group_choices = tuple(o for o in overrides if o.partition("=")[0] in GROUPS)
        known: list[str] = []
        if group_choices != overrides:
            known = _compose(group_choices, conf).keys
        parent = key.rpartition(".")[0]
        beside = [k for k in known if k.rpartition(".")[0] == parent] or known
        return f"override of {key!r}, which is no key; {_near(key, beside)}"
    missing = re.search(r"Could not find '(\w+)/([^']+)'", str(error))
    if missing and (Path(conf) / missing[1]).is_dir():
        group, option = missing.groups()
        return f"conf/{group}/{option}.yaml does not exist; {_near(option, options(group))}"
    return " ".join(lines)


def compose(overrides: Sequence[str] = ()) -> Composed:
    """Compose a configuration; of two overrides of one key the later one counts.

    Examples
    --------
    >>> compose(["graph=er", "data.noise=0.5"]).values()["data"]["noise"]
    0.5
    """
    last = {text.partition("=")[0]: text for text in overrides}
    for text in last.values():
        if "=" not in text and not text.startswith("~"):
            raise ConfigError(f"override {text!r} has no '='; write key=value, as in replicates=3")
    return _compose(tuple(last.values()), str(conf_dir()))


# -- the schema ---------------------------------------------------------------------------------


@cache
def _validators(conf: str) -> dict[str, Any]:
    """Return one validator for a configuration, one for each kind of study."""
    from omegaconf import OmegaConf

    jsonschema = import_optional("jsonschema", "workflow", "the replication")
    schema: Any = OmegaConf.to_container(OmegaConf.load(Path(conf) / "schema.yaml"))
    parts = {"": schema, **{name: schema["$defs"][name] for name in ("study", "collection")}}
    make = jsonschema.Draft202012Validator
    return {name: make({**part, "$defs": schema["$defs"]}) for name, part in parts.items()}


def check(values: dict[str, Any], composed: Composed) -> None:
    """Refuse unknown keys and impossible values.

    Raises
    ------
    ConfigError
        Names the key, its file (or the override that set it) and the valid choices.
    """
    from jsonschema.exceptions import best_match

    validators = _validators(str(conf_dir()))
    parts: list[tuple[list[str], str, Any]] = [([], "", values)]
    study = values.get("study")
    if study is not None:
        parts.append((["study"], "collection" if "studies" in study else "study", study))
    for prefix, name, part in parts:
        error = best_match(validators[name].iter_errors(part))
        if error is not None:
            path = [*prefix, *map(str, error.absolute_path)]
            raise ConfigError(_say(error, path, composed))


def _say(error: Any, path: list[str], composed: Composed) -> str:
    key = ".".join(path)
    where = composed.file(path[0]) if path else "conf/config.yaml"
    given = [o for o in composed.overrides if key and o.partition("=")[0].startswith(key)]
    if given:
        where = f"override {given[-1]!r}"
    if error.validator == "additionalProperties":
        known = sorted(error.schema.get("properties", {}))
        unknown = sorted(set(error.instance) - set(known))[0]
        full = ".".join([*path, unknown])
        if not path and unknown in composed.choices:
            where = composed.file(unknown)
        return f"{where}: unknown key {full!r}; {_near(unknown, known)}"
    if error.validator == "required":
        absent = [name for name in error.validator_value if name not in error.instance]
        return f"{where}: {key or 'the configuration'} lacks the key {absent[0]!r}; add it"
    if error.validator == "enum":
        valid = ", ".join("null" if v is None else str(v) for v in error.validator_value)
        return f"{where}: {key} = {error.instance!r} is not a choice; valid: {valid}"
    return f"{where}: {key} = {error.instance!r} cannot be: {error.message}"


# -- functions that configurations name ---------------------------------------------------------


def resolve(path: str, *, what: str = "function") -> Any:
    """Return the object of a dotted path such as ``kgl.models.KGL``.

    Modules of the repository that are not installed, ``experiments.my_model``, are found beside
    ``conf/``.

    Examples
    --------
    >>> resolve("kgl.models.KGL").__name__
    'KGL'
    """
    root = str(conf_dir().parent)
    if root not in sys.path:
        sys.path.append(root)
    module_name, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module_name), name)
    except ModuleNotFoundError as error:
        # only where the named module itself is absent: a module that fails inside is another story
        if error.name is None or not module_name.startswith(error.name):
            raise
        raise ConfigError(
            f"{what} {path!r}: no module {error.name!r}; give the dotted path of a function in a "
            "module of the repository, such as experiments.my_model.fit"
        ) from None
    except AttributeError:
        module = importlib.import_module(module_name)
        public = [n for n in vars(module) if not n.startswith("_")]
        raise ConfigError(f"{what} {path!r}: {_near(name, sorted(public))}") from None


def source_file(path: str) -> str | None:
    """Return the file that defines a dotted path, relative to the repository, if it is inside."""
    root = conf_dir().parent
    if str(root) not in sys.path:
        sys.path.append(str(root))
    try:
        spec = importlib.util.find_spec(path.rpartition(".")[0])
    except ModuleNotFoundError:
        spec = None
    if spec is None or spec.origin is None:
        return None
    origin = Path(spec.origin).resolve()
    return origin.relative_to(root).as_posix() if origin.is_relative_to(root) else None
