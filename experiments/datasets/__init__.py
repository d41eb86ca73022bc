"""Data of the studies: synthetic, real, and controls with other kernels."""
