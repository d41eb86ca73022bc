"""``python -m kgl graph=er model=kgl data.noise=0.5``: one cell of the replication, by hand."""

import sys

if __name__ == "__main__":
    try:
        from kgl.replication.cli import main
    except ModuleNotFoundError as error:
        remedy = "pip install 'kernel-graph-learning[workflow]'"
        sys.exit(f"error: python -m kgl needs {error.name}: {remedy}")
    main()
