"""Kernel graph learning: exact graphs from noisy, incomplete and dependent signals."""

from importlib.metadata import version

__version__ = version("kernel-graph-learning")
