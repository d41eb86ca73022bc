"""A page in headless Chromium for tests, by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[Any]:
    """Start Debian's Chromium, or that of KGL_CHROMIUM; without it or Playwright, skip the test."""
    sync = pytest.importorskip(
        "playwright.sync_api",
        reason="Playwright is not installed: the report page was NOT opened in a browser; "
        "pip install playwright",
    )
    names = [os.environ["KGL_CHROMIUM"]] if os.environ.get("KGL_CHROMIUM") else NAMES
    executable = next((path for name in names if (path := shutil.which(name))), None)
    if executable is None:
        pytest.skip(
            "Chromium is not installed: the report page was NOT opened in a browser; "
            "apt-get install chromium"
        )
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()
