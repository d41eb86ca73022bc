"""One cell of the replication: ``python -m experiments graph=er model=kgl data.noise=0.5``."""

from experiments.cli import main

if __name__ == "__main__":
    main()
