"""Check a composed configuration against ``conf/schema.yaml``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from experiments import registry
from experiments.lookup import ConfigError, conf_dir, suggest
from experiments.measured import KINDS

__all__ = ["STUDY_KINDS", "check", "kind_of", "leaves"]

#: What a file of conf/study can be: a figure, several of them, a figure of the tables of others,
#: the study of unstated settings, or one that is measured by jobs of its own.
STUDY_KINDS = ("study", "collection", "comparison", "inference", *KINDS)


def leaves(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return all values that are not dictionaries by their dotted names."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        inside = isinstance(value, Mapping) and value
        found |= leaves(value, f"{prefix}{key}.") if inside else {f"{prefix}{key}": value}
    return found


def kind_of(study: Mapping[str, Any]) -> str:
    """Return which of :data:`STUDY_KINDS` a file of conf/study is."""
    keys = {"studies": "collection", "tables": "comparison"}
    keys |= {kind: kind for kind in ("inference", *KINDS)}
    return next((kind for key, kind in keys.items() if key in study), "study")


@cache
def _schema(conf: str) -> dict[str, Any]:
    import yaml

    schema: Any = yaml.safe_load((Path(conf) / "schema.yaml").read_text(encoding="utf-8"))
    schema["$defs"]["metric"] = {"enum": list(registry.METRICS)}
    return schema


@cache
def _errors(part: str, text: str, conf: str) -> list[Any]:
    """Return the errors of one part of a configuration; equal parts are checked once."""
    from jsonschema import Draft202012Validator

    schema = _schema(conf)
    own = schema["$defs"][part] if part in STUDY_KINDS else schema["properties"][part]
    validator = Draft202012Validator({**own, "$defs": schema["$defs"]})
    return list(validator.iter_errors(json.loads(text)))


def check(values: Mapping[str, Any], blame: Callable[[str], str]) -> None:
    """Refuse unknown keys and impossible values.

    Parameters
    ----------
    values : dict
        A composed configuration.
    blame : callable
        Tells where a key was set: an override, or a file.
    """
    from jsonschema.exceptions import best_match

    conf = str(conf_dir())
    known = list(_schema(conf)["properties"])
    found: list[tuple[list[str], Any]] = []
    for name, part in values.items():
        if name not in known:
            raise ConfigError(f"{blame(name)}: unknown key {name!r}; {suggest(name, known)}")
        kind, text = name, json.dumps(part)
        if name == "study":
            kind = kind_of(part or {})
        if "NaN" in text or "Infinity" in text:
            _refuse_not_finite({name: part}, blame)
        if part is not None:
            found += [([name, *map(str, e.absolute_path)], e) for e in _errors(kind, text, conf)]
    if found:
        # a value that others refer to is wrong in several places: the override is the cause
        by_override = [f for f in found if blame(".".join(f[0])).startswith("override")]
        best = best_match([error for _, error in found])
        path, error = by_override[0] if by_override else next(f for f in found if f[1] is best)
        raise ConfigError(_describe(error, ".".join(path), blame))


def _refuse_not_finite(part: Mapping[str, Any], blame: Callable[[str], str]) -> None:
    for key, value in leaves(part).items():
        for number in value if isinstance(value, list) else [value]:
            if isinstance(number, float) and not math.isfinite(number):
                raise ConfigError(f"{blame(key)}: {key} = {number} is not a finite number")


def _describe(error: Any, key: str, blame: Callable[[str], str]) -> str:
    if error.validator == "additionalProperties":
        known = sorted(error.schema.get("properties", {}))
        unknown = sorted(set(error.instance) - set(known))[0]
        return (
            f"{blame(f'{key}.{unknown}')}: unknown key '{key}.{unknown}'; {suggest(unknown, known)}"
        )
    if error.validator == "required":
        absent = next(name for name in error.validator_value if name not in error.instance)
        return f"{blame(f'{key}.{absent}')}: {key} lacks the key {absent!r}; add it"
    if error.validator == "enum":
        valid = ", ".join("null" if v is None else str(v) for v in error.validator_value)
        return f"{blame(key)}: {key} = {error.instance!r} is not a valid choice; valid: {valid}"
    return f"{blame(key)}: {key} = {error.instance!r} is not valid: {error.message}"
