"""Where packages come from: the bill of materials, the audit and the permissions of workflows."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
#: Jobs that may write, and what: pages, a release, and the index, which wants to know who asks.
WRITES = {
    ("docs", "publish"): {"contents"},
    ("release", "index"): {"id-token"},
    ("release", "release"): {"contents"},
}
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def load() -> Any:
    """Import the script, which is in no package."""
    spec = importlib.util.spec_from_file_location(
        "supply_chain", ROOT / "requirements/supply_chain.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


supply_chain = load()


# --- bill of materials ---------------------------------------------------------------------------


def test_the_bill_has_every_locked_package_with_its_hashes() -> None:
    pinned = supply_chain.packages()
    locks = [(ROOT / "requirements" / name).read_text() for name in supply_chain.LOCKS]
    assert {path.name for path in (ROOT / "requirements").glob("*.txt")} == set(supply_chain.LOCKS)
    names = {name for text in locks for name in re.findall(r"^([a-z0-9-]+)==", text, re.M)}
    assert {package.name for package in pinned} == names
    hashes = {value for text in locks for value in re.findall(r"sha256:([0-9a-f]{64})", text)}
    assert {value for package in pinned for value in package.hashes} == hashes
    assert any("sys_platform" in package.marker for package in pinned)


def test_the_bill_is_the_same_for_the_same_locks(tmp_path: Path) -> None:
    first, second = tmp_path / "one" / "sbom.json", tmp_path / "two.json"
    for path in (first, second):
        assert supply_chain.main(["sbom", str(path)]) == 0
    assert first.read_bytes() == second.read_bytes()
    bill = json.loads(first.read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    refs = [one["bom-ref"] for one in bill["components"]]
    assert len(refs) == len(set(refs)) == len(supply_chain.packages())
    assert bill["dependencies"][0]["dependsOn"] == refs
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert bill["metadata"]["component"]["version"] == project["version"]
    other = supply_chain.sbom(supply_chain.packages()[1:], project)
    assert other["serialNumber"] != bill["serialNumber"]


def test_what_is_no_pin_is_refused(tmp_path: Path) -> None:
    for name in supply_chain.LOCKS:
        (tmp_path / name).write_text("# by hand\nnumpy>=2\n")
    with pytest.raises(ValueError, match=r"dev\.txt: 'numpy>=2' is not a pin; run make lock"):
        supply_chain.packages(tmp_path)


# --- known vulnerabilities -----------------------------------------------------------------------


@contextmanager
def database(answer: Callable[[list[dict[str, Any]]], Any]) -> Iterator[str]:
    """Serve a data base of vulnerabilities on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
            content = answer(asked)
            body = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def knows(*vulnerable: str) -> Callable[[list[dict[str, Any]]], Any]:
    """Return the answers of a data base in which some packages have a vulnerability."""

    def answer(asked: list[dict[str, Any]]) -> Any:
        names = [query["package"]["name"] for query in asked]
        found = [
            {"vulns": [{"id": f"GHSA-{name}"}]} if name in vulnerable else {} for name in names
        ]
        return {"results": found}

    return answer


def one(name: str) -> Any:
    return supply_chain.Package(name, "1.0", "", (), ("dev.txt",))


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGL_OFFLINE", "0")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.mark.usefixtures("online")
def test_an_open_vulnerability_fails_and_an_accepted_one_does_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned = [one("alpha"), one("beta")]
    with database(knows("jinja2")) as url:
        assert supply_chain.audit(pinned, url) == 0
    assert "2 packages, 0 open" in capsys.readouterr().out
    with database(knows("jinja2", "beta")) as url:
        assert supply_chain.audit(pinned, url) == 1
        assert "beta 1.0: GHSA-beta is open" in capsys.readouterr().out
        monkeypatch.setitem(supply_chain.ACCEPTED, "GHSA-beta", "only on another platform")
        assert supply_chain.audit(pinned, url) == 0
        assert "GHSA-beta only on another platform" in capsys.readouterr().out


@pytest.mark.usefixtures("online")
@pytest.mark.parametrize(
    "answer",
    [
        knows("beta"),  # not the one that is known
        lambda asked: {"results": []},
        lambda asked: {"error": "try later"},
        lambda asked: ["no", "answer"],
        lambda asked: b"<html>log in to this network</html>",
    ],
)
def test_no_answer_is_neither_a_pass_nor_a_failure(
    answer: Callable[[Any], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with database(answer) as url:
        assert supply_chain.audit([one("beta")], url) == 0
    assert "audit: skipped, the data base of vulnerabilities cannot be" in capsys.readouterr().out


@pytest.mark.usefixtures("online")
def test_without_a_network_nothing_is_audited(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with database(knows()) as url:
        pass  # and gone
    assert supply_chain.audit([one("beta")], url) == 0
    assert "audit: skipped, the data base" in capsys.readouterr().out
    monkeypatch.setenv("KGL_OFFLINE", "1")
    with database(knows("jinja2", "beta")) as url:
        assert supply_chain.audit([one("beta")], url) == 0
    assert capsys.readouterr().out == "audit: skipped, KGL_OFFLINE=1\n"


# --- workflows -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_have_the_least_permissions(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {}
    assert "pull_request_target" not in text
    # what others may write into, such as the name of a branch, is no part of a script
    assert not re.search(r"\$\{\{\s*(github\.(event|head_ref)|inputs)\.", text)
    for name, job in workflow["jobs"].items():
        writes = {key for key, value in job["permissions"].items() if value != "read"}
        assert writes == WRITES.get((path.stem, name), set())
        assert "timeout-minutes" in job
        if writes and "pull_request" in workflow[True]:  # the key "on", which YAML reads as true
            assert job["if"] == "github.event_name == 'push'"
        for step in job["steps"]:
            if "uses" not in step:
                continue
            # by commit: a tag can be moved
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"]), step["uses"]
            if step["uses"].startswith("actions/checkout@") and not writes:
                assert step["with"]["persist-credentials"] is False
