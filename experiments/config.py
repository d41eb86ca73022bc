"""Reading ``conf/``: compose with Hydra, check against the schema, say what is wrong and where.

A configuration is composed from one option of each group and from overrides in Hydra's syntax,
``data.noise=0.5``. What comes out is a plain dictionary without references.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from experiments.io import digest
from experiments.kept import kept
from experiments.lookup import ConfigError, conf_dir, suggest
from kgl._optional import import_optional

__all__ = [
    "GROUPS",
    "KINDS",
    "Composed",
    "check",
    "compose",
    "kind_of",
    "options",
]

#: Groups of ``conf/``, each a directory with one file per option.
GROUPS = ("protocol", "grid", "graph", "data", "model", "study")
#: What a file of conf/study can be: a figure, several of them, or several under many readings.
KINDS = ("study", "collection", "specifications")


def options(group: str) -> list[str]:
    """Return the options of a group."""
    return sorted(path.stem for path in (conf_dir() / group).glob("*.yaml"))


@dataclass(frozen=True, eq=False)
class Composed:
    """One configuration: its values, references not resolved, and the option of each group."""

    plain: dict[str, Any]
    choices: dict[str, str | None]
    overrides: tuple[str, ...]

    def values(self, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return plain values, with some keys set first and references resolved after that."""
        settings = dict(settings or {})
        for key in settings:
            if key not in self.keys:
                raise ConfigError(f"sweep over {key!r}, which is no key; {suggest(key, self.keys)}")
        # Resolving references is slow; where none leads to a key, the key can be set afterwards.
        referred = json.dumps({k: v for k, v in settings.items() if f"${{{k}}}" in self.text})
        name = f"values {digest([self.plain, referred], 24)}"
        # as text, which is faster to read again than values are to copy
        text = kept(str(conf_dir())).get(name, lambda: self._resolved(referred))
        values: dict[str, Any] = json.loads(text)
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
        """The configuration as JSON, references not resolved."""
        return json.dumps(self.plain)

    @cached_property
    def leaves(self) -> dict[str, Any]:
        """All values by dotted name, references not resolved."""
        return _leaves(self.plain)

    @property
    def keys(self) -> list[str]:
        """Dotted names of all values."""
        return list(self.leaves)

    def _resolved(self, settings: str) -> str:
        """Return the values as JSON, with references resolved after some keys are set."""
        from omegaconf import OmegaConf
        from omegaconf.errors import OmegaConfBaseException

        config = OmegaConf.create(self.plain)
        for key, value in json.loads(settings).items():
            OmegaConf.update(config, key, value)
        try:
            values: Any = OmegaConf.to_container(config, resolve=True)
        except OmegaConfBaseException as error:
            key = str(error.full_key or "")
            reason = str(error).splitlines()[0]
            given = f" (overrides: {', '.join(self.overrides)})" if self.overrides else ""
            raise ConfigError(f"{self.blame(key)}: {key}: {reason}{given}") from None
        return json.dumps(values)

    def blame(self, key: str) -> str:
        """Return where a key was set: the override, or else the file."""
        for text in reversed(self.overrides):
            name = override_key(text)
            if name not in GROUPS and (key == name or key.startswith((f"{name}.", f"{name}["))):
                return f"override {text!r}"
        return self.file(key.partition(".")[0])

    def file(self, group: str) -> str:
        """Return the file that holds a group, as a reader would name it."""
        choice = self.choices.get(group)
        return f"conf/{group}/{choice}.yaml" if choice else "conf/config.yaml"


def override_key(override: str) -> str:
    """Return the key that an override is about: ``+data.noise=1`` is about ``data.noise``."""
    return override.partition("=")[0].lstrip("+~")


def _leaves(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return all values that are no dictionaries by their dotted names."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        inside = isinstance(value, Mapping) and value
        found |= _leaves(value, f"{prefix}{key}.") if inside else {f"{prefix}{key}": value}
    return found


@cache
def _compose(overrides: tuple[str, ...], conf: str) -> Composed:
    name = f"composed {json.dumps(overrides)}"
    plain, choices = json.loads(kept(conf).get(name, lambda: _hydra(overrides, conf)))
    return Composed(plain, choices, overrides)


def _hydra(overrides: tuple[str, ...], conf: str) -> str:
    """Let Hydra compose; return the values and the option of each group as JSON."""
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
    except ValueError as error:  # a group set to something that is no name
        raise ConfigError(f"overrides {', '.join(overrides)}: {error}") from None
    with open_dict(config):
        del config["hydra"]
    choices = {group: chosen.get(group) for group in GROUPS}
    return json.dumps([OmegaConf.to_container(config), choices])


def _explain(error: Exception, overrides: tuple[str, ...], conf: str) -> str:
    """Say what Hydra objects to in terms of keys, files and valid choices."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    for text in overrides:
        try:
            OverridesParser.create().parse_override(text)
        except HydraException as wrong:
            reason = str(wrong).splitlines()[0]
            return f"override {text!r} cannot be read ({reason}); write key=value"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    unknown = re.search(r"Could not override '([^']+)'", str(error))
    if unknown:
        key = unknown[1].lstrip("+~")
        group_choices = tuple(o for o in overrides if override_key(o) in GROUPS)
        known: list[str] = []
        if group_choices != overrides:
            known = list(_compose(group_choices, conf).leaves)
        parent = key.rpartition(".")[0]
        beside = [k for k in known if k.rpartition(".")[0] == parent] or known
        beside += [group for group in GROUPS if not parent and group not in beside]
        return f"override of {key!r}, which is no key; {suggest(key, beside)}"
    missing = re.search(r"Could not find '(\w+)/([^']+)'", str(error))
    if missing and (Path(conf) / missing[1]).is_dir():
        group, option = missing.groups()
        return f"conf/{group}/{option}.yaml does not exist; {suggest(option, options(group))}"
    return " ".join(lines)


def compose(overrides: Sequence[str] = ()) -> Composed:
    """Compose a configuration; of two overrides of one key the later one counts.

    Examples
    --------
    >>> compose(["graph=er", "data.noise=0.5"]).values()["data"]["noise"]
    0.5
    """
    return _compose(last_of_each(overrides), str(conf_dir()))


def last_of_each(overrides: Sequence[str]) -> tuple[str, ...]:
    """Return the overrides that count: of two for one key the later one.

    Examples
    --------
    >>> last_of_each(["seed=1", "replicates=3", "seed=2"])
    ('seed=2', 'replicates=3')
    """
    for text in overrides:
        if "=" not in text and not text.startswith("~"):
            raise ConfigError(f"override {text!r} has no '='; write key=value, as in replicates=3")
    return tuple({override_key(text): text for text in overrides}.values())


# -- the schema ---------------------------------------------------------------------------------


@cache
def _validators(conf: str) -> dict[str, Any]:
    """Return one validator for a configuration, one for each kind of study."""
    from omegaconf import OmegaConf

    jsonschema = import_optional("jsonschema", "workflow", "the replication")
    schema: Any = OmegaConf.to_container(OmegaConf.load(Path(conf) / "schema.yaml"))
    parts = {"": schema, **{name: schema["$defs"][name] for name in KINDS}}
    make = jsonschema.Draft202012Validator
    return {name: make({**part, "$defs": schema["$defs"]}) for name, part in parts.items()}


def kind_of(study: Mapping[str, Any]) -> str:
    """Return which of :data:`KINDS` a file of conf/study is."""
    return (
        "collection"
        if "studies" in study
        else "specifications"
        if "specifications" in study
        else "study"
    )


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
        parts.append((["study"], kind_of(study), study))
    for key, value in _leaves(values).items():
        for number in value if isinstance(value, list) else [value]:
            if isinstance(number, float) and not math.isfinite(number):
                raise ConfigError(f"{composed.blame(key)}: {key} = {number} is no finite number")
    for prefix, name, part in parts:
        errors = list(validators[name].iter_errors(part))
        if not errors:
            continue
        said = [(e, [*prefix, *map(str, e.absolute_path)]) for e in errors]
        # a value that others refer to is wrong in several places: the override is the cause
        set_here = [s for s in said if composed.blame(".".join(s[1])).startswith("override")]
        best = best_match(errors)
        error, path = set_here[0] if set_here else next(s for s in said if s[0] is best)
        raise ConfigError(_say(error, path, composed))


def _say(error: Any, path: list[str], composed: Composed) -> str:
    key = ".".join(path)
    where = composed.blame(key)
    if error.validator == "additionalProperties":
        known = sorted(error.schema.get("properties", {}))
        unknown = sorted(set(error.instance) - set(known))[0]
        full = ".".join([*path, unknown])
        return f"{composed.blame(full)}: unknown key {full!r}; {suggest(unknown, known)}"
    if error.validator == "required":
        absent = [name for name in error.validator_value if name not in error.instance]
        where = composed.blame(".".join([*path, absent[0]]))
        return f"{where}: {key or 'the configuration'} lacks the key {absent[0]!r}; add it"
    if error.validator == "enum":
        valid = ", ".join("null" if v is None else str(v) for v in error.validator_value)
        return f"{where}: {key} = {error.instance!r} is not a choice; valid: {valid}"
    return f"{where}: {key} = {error.instance!r} cannot be: {error.message}"


# -- functions that configurations name ---------------------------------------------------------


def source_file(path: str) -> str | None:
    """Return the file that defines a dotted path, relative to the repository, if it is inside.

    It is found without importing anything: figures would bring matplotlib.
    """
    root = conf_dir().parent
    file = _module_file(path, root)
    return None if file is None else file.relative_to(root).as_posix()


def _module_file(path: str, root: Path) -> Path | None:
    module = root.joinpath(*path.split(".")[:-1])
    files = (module.with_suffix(".py"), module / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def check_path(path: str, what: str) -> None:
    """Refuse a dotted path into the repository that leads nowhere, before any work starts.

    A path into an installed package is left to the job that imports it.
    """
    # a configuration elsewhere (KGL_CONF) uses the functions of this repository too
    roots = (conf_dir().parent, Path(__file__).resolve().parents[1])
    file = next((found for root in roots if (found := _module_file(path, root))), None)
    if file is None:
        top = path.partition(".")[0]
        if top in ("kgl", "experiments") or importlib.util.find_spec(top) is None:
            raise ConfigError(
                f"{what} {path!r}: no such module; give the dotted path of a function in a module "
                "of the repository, such as experiments.my_models.fit"
            )
        return
    tree = ast.parse(file.read_text(encoding="utf-8"))
    defined = {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    names = set(defined)
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    name = path.rpartition(".")[2]
    if name not in names:
        public = sorted(n for n in defined if not n.startswith("_"))
        raise ConfigError(f"{what} {path!r}: {file.name} has no {name!r}; {suggest(name, public)}")
