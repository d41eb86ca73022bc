"""Packages that only some functions need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["import_optional"]


def import_optional(name: str, extra: str, what: str) -> Any:
    """Return a module; where it is missing, the error names ``what`` and the extra to install."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f"{what} needs {package}: pip install 'kernel-graph-learning[{extra}]'"
        ) from error
