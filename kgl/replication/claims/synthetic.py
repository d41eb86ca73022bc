"""The claims about synthetic data: noise (N), missing entries (M), completion (Y), sizes (S)."""

from __future__ import annotations

from kgl.replication.claims.missing import COMPLETION, MISSING
from kgl.replication.claims.noise import NOISE
from kgl.replication.claims.sizes import SIZES

__all__ = ["COMPLETION", "MISSING", "NOISE", "SIZES", "SYNTHETIC"]

SYNTHETIC = (*NOISE, *MISSING, *COMPLETION, *SIZES)
