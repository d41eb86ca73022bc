"""The claims about synthetic data: noise (N), missing entries (M), completion (Y), sizes (S)."""

from __future__ import annotations

from experiments.claims.missing import COMPLETION, MISSING
from experiments.claims.noise import NOISE
from experiments.claims.sizes import SIZES

__all__ = ["COMPLETION", "MISSING", "NOISE", "SIZES", "SYNTHETIC"]

SYNTHETIC = (*NOISE, *MISSING, *COMPLETION, *SIZES)
