"""Run the command as ``python -m kgl``."""

from kgl.command import main

if __name__ == "__main__":
    raise SystemExit(main())
