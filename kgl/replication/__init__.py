"""The replication of the paper: configurations, cells, fits, tables and progress.

This package is what the Snakefile and ``python -m kgl`` call. It knows Hydra's files and writes
tables; the numeric core below it knows nothing of either.
"""
