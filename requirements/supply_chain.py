"""What the lock brings: a bill of materials, and known vulnerabilities.

    python requirements/supply_chain.py sbom build/sbom.cdx.json
    python requirements/supply_chain.py audit

``sbom`` writes the packages of all locks in CycloneDX 1.5: the same bytes for the same locks.
``audit`` asks the data base of OSV, which pip-audit can use too, for known vulnerabilities of them.
Where the data base cannot be reached, or does not know a vulnerability that is known, nothing is
audited: that is said, and is no failure. A vulnerability that was looked at and does not concern
this project goes into ``ACCEPTED``, with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tomllib
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
#: Locks, and what each is needed for.
LOCKS = {
    "dev.txt": "tests, checks and the replication",
    "docs.txt": "the site",
    "build.txt": "building",
}
DATABASE = "https://api.osv.dev/v1/querybatch"
#: A release with known vulnerabilities: a data base that knows none of it has not answered.
KNOWN = ("jinja2", "2.4.1")
#: Seconds to wait for the data base.
PATIENCE = 10.0
#: Identifier of a vulnerability: why it does not concern this project.
ACCEPTED: dict[str, str] = {}


@dataclass(frozen=True)
class Package:
    """One package of a lock."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    locks: tuple[str, ...]

    @property
    def purl(self) -> str:
        """The package URL."""
        return f"pkg:pypi/{self.name}@{self.version}"


def packages(directory: Path = HERE) -> list[Package]:
    """Return the packages of all locks by name; one that several locks pin comes once."""
    found: dict[tuple[str, str], Package] = {}
    for lock in LOCKS:
        text = (directory / lock).read_text(encoding="utf-8")
        for entry in re.split(r"\n(?=[a-z0-9])", text)[1:]:
            pin = re.match(r"([a-z0-9._-]+)==([^\s;\\]+)\s*(?:;\s*([^\\\n]*))?", entry)
            if pin is None:
                raise ValueError(f"{lock}: {entry.splitlines()[0]!r} is not a pin; run make lock")
            name, version, marker = pin[1], pin[2], (pin[3] or "").strip()
            hashes = tuple(sorted(re.findall(r"--hash=sha256:([0-9a-f]{64})", entry)))
            known = found.get((name, version))
            locks = (*(known.locks if known else ()), lock)
            found[name, version] = Package(name, version, marker, hashes, locks)
    return [found[key] for key in sorted(found)]


# --- bill of materials ---------------------------------------------------------------------------


def sbom(pinned: list[Package], project: dict[str, Any]) -> dict[str, Any]:
    """Return the bill of materials of a project and its locked packages, as CycloneDX 1.5."""
    own = f"pkg:pypi/{project['name']}@{project['version']}"
    content: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library", "bom-ref": own, "purl": own,
                "name": project["name"], "version": project["version"],
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": [_component(package) for package in pinned],
        "dependencies": [{"ref": own, "dependsOn": [package.purl for package in pinned]}],
    }  # fmt: skip
    # neither a time nor a random number: the same locks give the same file
    digest = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    return {**content, "serialNumber": f"urn:uuid:{digest}"}


def _component(package: Package) -> dict[str, Any]:
    properties = [{"name": "kgl:lock", "value": lock} for lock in package.locks]
    if package.marker:
        properties.append({"name": "kgl:marker", "value": package.marker})
    # one hash for each file of a release, of which the installation takes one
    files = [{"alg": "SHA-256", "content": value} for value in package.hashes]
    return {
        "type": "library", "bom-ref": package.purl, "purl": package.purl,
        "name": package.name, "version": package.version, "properties": properties,
        "externalReferences": [{"type": "distribution", "url": package.purl, "hashes": files}],
    }  # fmt: skip


# --- known vulnerabilities -----------------------------------------------------------------------


class UnreachableError(Exception):
    """No answer, or none of use, of the data base."""


def vulnerabilities(pinned: list[Package], url: str = DATABASE) -> dict[Package, list[str]]:
    """Return identifiers of known vulnerabilities of the packages that have any."""
    asked = [KNOWN, *((package.name, package.version) for package in pinned)]
    queries = [
        {"package": {"name": name, "ecosystem": "PyPI"}, "version": version}
        for name, version in asked
    ]
    request = urllib.request.Request(
        url,
        data=json.dumps({"queries": queries}).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            results = json.load(answer)["results"]
        found = [[one["id"] for one in result.get("vulns") or ()] for result in results]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreachableError(f"{type(error).__name__}: {error}") from None
    if len(found) != len(asked):
        raise UnreachableError(f"{len(found)} answers to {len(asked)} questions")
    if not found[0]:
        raise UnreachableError(f"it knows no vulnerability of {' '.join(KNOWN)}")
    return {
        package: sorted(set(ids)) for package, ids in zip(pinned, found[1:], strict=True) if ids
    }


def audit(pinned: list[Package], url: str = DATABASE) -> int:
    """Print known vulnerabilities, and return 1 where there is one that was not accepted."""
    if os.environ.get("KGL_OFFLINE") == "1":
        print("audit: skipped, KGL_OFFLINE=1")
        return 0
    try:
        found = vulnerabilities(pinned, url)
    except UnreachableError as reason:
        print(f"audit: skipped, the data base of vulnerabilities cannot be reached ({reason})")
        return 0
    open_ones = 0
    for package, ids in found.items():
        for one in ids:
            accepted = ACCEPTED.get(one)
            open_ones += accepted is None
            print(f"{package.name} {package.version}: {one} {accepted or 'is open'}")
    print(f"audit: {len(pinned)} packages, {open_ones} open vulnerabilities")
    if open_ones:
        print("run make lock for newer versions, or accept it in requirements/supply_chain.py")
    return int(open_ones > 0)


def main(arguments: list[str] | None = None) -> int:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("audit", help="known vulnerabilities of the locked packages")
    bill = commands.add_parser("sbom", help="bill of materials of the locks")
    bill.add_argument("file", type=Path, help="JSON file to write")
    given = parser.parse_args(arguments)
    pinned = packages()
    if given.command == "audit":
        return audit(pinned)
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    given.file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(sbom(pinned, project), indent=1, sort_keys=True)
    given.file.write_text(f"{text}\n", encoding="utf-8")
    print(f"{given.file}: {len(pinned)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
