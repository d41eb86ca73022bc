"""Find things by name: the configuration directory, and objects that configurations name."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "ConfigError", "conf_dir", "importable_by_jobs", "resolve", "suggest"]

#: The checkout that this package is part of.
ROOT = Path(__file__).resolve().parents[1]


class ConfigError(ValueError):
    """A configuration that cannot be used; the message names the key, the file and the remedy."""


def conf_dir() -> Path:
    """Return the directory of the configuration: ``KGL_CONF``, or ``conf/`` of the checkout."""
    return _checked(os.environ.get("KGL_CONF") or str(ROOT / "conf"))


@cache
def _checked(conf: str) -> Path:
    path = Path(conf).resolve()
    if not (path / "config.yaml").is_file():
        raise ConfigError(f"no config.yaml in {conf}; set KGL_CONF to a copy of conf/, or unset it")
    return path


def importable_by_jobs() -> None:
    """Let the processes that this one starts import the packages of the checkout."""
    others = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), others]))


def suggest(given: str, known: Sequence[str]) -> str:
    """Return a hint for a misspelt name: the closest valid one, and all of them."""
    close = difflib.get_close_matches(given, known, n=1, cutoff=0.6)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}valid: {', '.join(known)}" if known else "no key is valid there"


def resolve(path: str, *, what: str = "function") -> Any:
    """Return the object of a dotted path such as ``kgl.models.KGL``.

    Modules that lie beside ``conf/``, such as ``experiments.my_model``, need not be installed.

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
        # only where the named module is absent: an import that fails inside it is another error
        if not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise ConfigError(
            f"{what} {path!r}: no module {error.name!r}; give the dotted path of a function in a "
            "module of the repository, such as experiments.my_model.fit"
        ) from None
    except AttributeError:
        module = importlib.import_module(module_name)
        public = [n for n in vars(module) if not n.startswith("_")]
        raise ConfigError(f"{what} {path!r}: {suggest(name, sorted(public))}") from None
