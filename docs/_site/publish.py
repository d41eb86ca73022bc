"""Lay out the published site: a directory per version, the list of versions, a redirect.

    python docs/_site/publish.py docs/_build/html site dev    # a built site becomes site/dev
    python docs/_site/publish.py --merge site pages           # add it to those already published

Used by .github/workflows/docs.yml. Needs the standard library alone.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REDIRECT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>kgl</title>
<meta http-equiv="refresh" content="0; url={version}/docs/index.html">
<p><a href="{version}/docs/index.html">kgl: kernel graph learning</a></p>
</html>
"""


def stage(built: Path, site: Path, version: str) -> None:
    """Copy a built site to the directory of its version; Binder looks at the top for its files."""
    shutil.copytree(built, site / version, dirs_exist_ok=True)
    if (built / "binder").is_dir():
        shutil.copytree(built / "binder", site / "binder", dirs_exist_ok=True)


def versions(pages: Path) -> list[str]:
    """Return the versions in a directory, the newest release first and dev last."""
    found = [p.name for p in pages.iterdir() if re.fullmatch(r"dev|\d+(\.\d+)*", p.name)]
    key = {v: (0,) if v == "dev" else tuple(map(int, v.split("."))) for v in found}
    return sorted(found, key=lambda version: key[version], reverse=True)


def merge(site: Path, pages: Path, address: str) -> None:
    """Put staged versions in place of those published, and write the list of versions."""
    for part in sorted(p for p in site.iterdir() if p.is_dir()):
        shutil.rmtree(pages / part.name, ignore_errors=True)
        shutil.copytree(part, pages / part.name)
    listed = versions(pages)
    switcher = [
        {"name": v, "version": v, "url": f"{address}/{v}/", "preferred": v == listed[0]}
        for v in listed
    ]
    (pages / "switcher.json").write_text(json.dumps(switcher, indent=1) + "\n", encoding="utf-8")
    (pages / "index.html").write_text(REDIRECT.format(version=listed[0]), encoding="utf-8")
    (pages / ".nojekyll").touch()


def main(arguments: list[str]) -> None:
    """Run one of the two commands above."""
    if arguments[0] == "--merge":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        merge(Path(arguments[1]), Path(arguments[2]), project["urls"]["Documentation"])
    else:
        stage(Path(arguments[0]), Path(arguments[1]), arguments[2])


if __name__ == "__main__":
    main(sys.argv[1:])
