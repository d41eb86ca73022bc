"""Rows that do not fit in memory: what estimators read of them, summed piece by piece."""

from kgl.rows.compress import compress
from kgl.rows.compressed import CompressedRows
from kgl.rows.sums import RowSums

__all__ = ["CompressedRows", "RowSums", "compress"]
