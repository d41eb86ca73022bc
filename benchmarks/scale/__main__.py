"""``python -m benchmarks.scale``."""

from benchmarks.scale.run import main

if __name__ == "__main__":
    main()
