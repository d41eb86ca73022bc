"""Time, memory and exactness where there are many nodes or rows: ``python -m benchmarks.scale``."""
