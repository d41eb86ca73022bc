"""Check every link, anchor, picture and script of a built site that leads into the site.

python docs/_site/links.py docs/_build/html
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Collects the targets and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element refers to, and its name."""
        for key, value in attrs:
            if value and key in ("id", "name"):
                self.anchors.add(value)
            if value and key in ("href", "src") and tag != "base":
                self.targets.append(value)


def problems(site: Path) -> list[str]:
    """Return a line for each target that does not exist."""
    # the theme has a template among its static files
    paths = sorted(p for p in site.rglob("*.html") if "_static" not in p.relative_to(site).parts)
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    found = []
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            linked = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            linked = linked / "index.html" if linked.is_dir() else linked
            where = f"{path.relative_to(site)}: {target}"
            if not linked.exists():
                found.append(f"{where} does not exist")
            elif linked in pages and parts.fragment:
                anchor = unquote(parts.fragment)
                found += [f"{where} has no such anchor"] * (anchor not in pages[linked].anchors)
    return found


def main(site: Path) -> int:
    """Print the problems; return 1 if there are any."""
    found = problems(site.resolve())
    print("\n".join(found) or "links: every link and anchor into the site exists")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
