"""``python -m kgl graph=er model=kgl data.noise=0.5``: one cell of the replication, by hand."""

from kgl.replication.cli import main

if __name__ == "__main__":
    main()
