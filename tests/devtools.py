"""A real browser for tests: headless Chromium over the DevTools protocol, with no other package.

Chromium is started with ``--remote-debugging-pipe``: it reads commands from file descriptor 3 and
writes answers and events to 4, JSON texts that end in a zero byte. Nothing listens on a port.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
NOT_HERE = (
    "Chromium is not installed: the report page was NOT opened in a browser; "
    "apt-get install chromium"
)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--remote-debugging-pipe",
)
#: Puts the two ends of the pipes where Chromium looks for them, and becomes Chromium.
WRAPPER = (
    "import fcntl, os, sys\n"
    "ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]\n"
    "os.dup2(ends[0], 3); os.dup2(ends[1], 4)\n"
    "os.execv(sys.argv[3], sys.argv[3:])\n"
)


def find_chromium() -> str | None:
    """Return the executable: that of the variable KGL_CHROMIUM, or one of the usual names."""
    named = os.environ.get("KGL_CHROMIUM")
    if named:
        return shutil.which(named)
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """A browser with one empty page; a context manager that ends its process.

    Attributes
    ----------
    events : list of dict
        All that the browser has reported of its own accord.
    """

    def __init__(self, executable: str, profile: Path, timeout: float = 60.0) -> None:
        self.events: list[dict[str, Any]] = []
        self._timeout = timeout
        self._sent = 0
        self._rest = b""
        theirs_in, self._write = os.pipe()
        self._read, theirs_out = os.pipe()
        ends = (theirs_in, theirs_out)
        command = [sys.executable, "-c", WRAPPER, *map(str, ends), executable, *FLAGS]
        self._process = subprocess.Popen(
            [*command, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=ends,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in ends:
            os.close(end)
        self._session: str | None = None
        try:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
            self._session = attached["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser: asked first, then killed."""
        try:
            os.write(self._write, b'{"id":0,"method":"Browser.close"}\0')
            self._process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        for end in (self._read, self._write):
            os.close(end)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result; events that come meanwhile are kept."""
        self._sent += 1
        message: dict[str, Any] = {"id": self._sent, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        end = time.monotonic() + self._timeout
        while True:
            answer = self._receive(end)
            if answer.get("id") == self._sent:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            if "method" in answer:
                self.events.append(answer)

    def _receive(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            left = end - time.monotonic()
            ready, _, _ = select.select([self._read], [], [], max(left, 0.0))
            data = os.read(self._read, 1 << 16) if ready else b""
            if not data:
                state = "ended" if ready else "said nothing in time"
                raise RuntimeError(f"the browser {state} (exit code {self._process.poll()})")
            self._rest += data
        text, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(text))

    # -- what tests do ---------------------------------------------------------------------------

    def size(self, width: int, height: int = 900, *, phone: bool = False) -> None:
        """Set the size of the window."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=phone,
        )  # fmt: skip

    def dark(self, on: bool) -> None:
        """Prefer dark colours, or light ones."""
        feature = {"name": "prefers-color-scheme", "value": "dark" if on else "light"}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def scripts(self, on: bool) -> None:
        """Run the scripts of pages, or do not."""
        self.call("Emulation.setScriptExecutionDisabled", value=not on)

    def open(self, address: str) -> None:
        """Load a page and wait until it is complete."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        end = time.monotonic() + self._timeout
        while self.run("document.readyState") != "complete" or self.run("location.href") in (
            "about:blank",
            "",
        ):
            if time.monotonic() > end:
                raise RuntimeError(f"{address} did not load")
            time.sleep(0.05)

    def run(self, script: str) -> Any:
        """Evaluate an expression in the page; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write a picture of the window, or of the whole page."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    @property
    def complaints(self) -> list[str]:
        """Errors and warnings of the console, and exceptions that nothing caught."""
        found = []
        for event in self.events:
            kind, params = event["method"], event["params"]
            if kind == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            elif kind == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
                found.append(str(params["args"]))
            elif kind == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
        return found

    @property
    def requests(self) -> list[str]:
        """Addresses that pages have asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]
