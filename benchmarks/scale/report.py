"""Tables and figures of the stored numbers."""

from __future__ import annotations

from typing import Any

__all__ = ["write"]


def write(known: dict[str, Any]) -> None:
    """Renew the tables of docs/scale.md and the figures beside it."""
