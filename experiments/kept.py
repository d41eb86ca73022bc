"""What was composed before, kept beside ``conf/``: a plan has hundreds of compositions.

Hydra takes some 50 ms for each, so that reading the paper's studies takes half a minute the first
time. The file is named by the text of all configurations and by the versions of the libraries that
read them: after any edit it is another file, so nothing kept can be out of date.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from experiments.io import atomic, digest

__all__ = ["Kept", "kept"]

#: Where, beside ``conf/``, and for how many states of it.
DIRECTORY, STATES = ".cache/conf", 5


def state_of_conf(conf: Path) -> str:
    """Return a name for the text of all configurations and the versions of what reads them."""
    files = sorted(conf.rglob("*.yaml"))
    texts = [
        (path.relative_to(conf).as_posix(), path.read_text(encoding="utf-8")) for path in files
    ]
    return digest([texts, version("hydra-core"), version("omegaconf")], 24)


class Kept:
    """Texts by name, for one state of a directory of configurations.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as root:
    ...     first = Kept(Path(root) / "conf")
    ...     made = first.get("name", lambda: "slowly made")
    ...     first.save()
    ...     Kept(Path(root) / "conf").get("name", lambda: "made again")
    'slowly made'
    """

    def __init__(self, conf: Path) -> None:
        self.conf = conf
        self.state = state_of_conf(conf)
        self.path = conf.parent / DIRECTORY / f"{self.state}.json"
        self.texts = self._read()
        self.known = len(self.texts)

    def _read(self) -> dict[str, str]:
        try:
            texts = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # absent, or spoiled: it is made again
            return {}
        return texts if isinstance(texts, dict) else {}

    def get(self, name: str, make: Callable[[], str]) -> str:
        """Return the text of that name; make it if it is not there."""
        if name not in self.texts:
            self.texts[name] = make()
        return self.texts[name]

    def save(self) -> None:
        """Write what is new, unless the configurations have changed since they were read."""
        if len(self.texts) == self.known or state_of_conf(self.conf) != self.state:
            return
        # a directory that cannot be written to costs time, not results
        with suppress(OSError):
            with atomic(self.path) as part:
                part.write_text(json.dumps(self._read() | self.texts), encoding="utf-8")
            self.known = len(self.texts)
            files = sorted(self.path.parent.glob("*.json"), key=lambda path: path.stat().st_mtime)
            for old in files[:-STATES]:
                old.unlink(missing_ok=True)


@cache
def kept(conf: str) -> Kept:
    """Return what is kept for a directory of configurations, read once."""
    return Kept(Path(conf))
