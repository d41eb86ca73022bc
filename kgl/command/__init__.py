"""The command ``kgl``: from a table to a graph without programming; see ``kgl learn --help``."""

from kgl.command.steps import main

__all__ = ["main"]
