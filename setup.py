"""The description on the package index: README.md with absolute links and images.

All else is in pyproject.toml. The index has no other files of the repository, so relative links and
images of the README would be broken there. Both are made absolute when the package is built, at
the tag of the version where it is a release, else at the main branch.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def absolute(text: str, repository: str, ref: str) -> str:
    """Return Markdown whose links and images are addresses in ``repository`` at ``ref``."""

    def address(match: re.Match[str]) -> str:
        image, label, target = match.groups()
        if re.match(r"\w+:|#", target):
            return match[0]
        kind = "raw" if image else "blob"
        return f"{image}[{label}]({repository}/{kind}/{ref}/{target})"

    pieces = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    pieces[::2] = [
        re.sub(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)", address, piece)
        for piece in pieces[::2]
    ]
    return "".join(pieces)


def main() -> None:
    """Build with the description made from README.md."""
    release = "dev" not in PROJECT["version"]
    setup(
        long_description=absolute(
            (ROOT / "README.md").read_text(encoding="utf-8"),
            PROJECT["urls"]["Source"],
            f"v{PROJECT['version']}" if release else "main",
        ),
        long_description_content_type="text/markdown",
    )


if __name__ == "__main__":
    main()
