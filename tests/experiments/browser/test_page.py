"""The report page in a real browser: it shows all, filters, fits a phone, asks for nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from devtools import NOT_HERE, Browser, find_chromium
from verdict_files import VERDICTS, publish

from experiments.report import load, page

ROOT = Path(__file__).resolve().parents[3]
#: Rows of the ledger that can be seen.
SEEN = """[...document.querySelectorAll("table.ledger tbody tr")]
    .filter((row) => row.getClientRects().length).map((row) => row.id.slice(6))"""
#: Pictures load late; wait for all of them.
WIDTHS = """Promise.all([...document.querySelectorAll("img[src]")].map(async (one) => {
    one.loading = "eager";
    await one.decode();
    return one.naturalWidth;
}))"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Browser]:
    executable = find_chromium()
    if executable is None:
        pytest.skip(NOT_HERE)
    with Browser(executable, tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture(scope="module")
def made_up(tmp_path_factory) -> str:
    """Address of the page of a made-up directory."""
    root = tmp_path_factory.mktemp("made-up")
    target = root / "page.html"
    target.write_text(page.render(load(publish(root / "figures")), {}), encoding="utf-8")
    return target.as_uri()


@pytest.fixture(scope="module")
def ours(tmp_path_factory) -> str:
    """Address of the page of the tracked figures."""
    target = tmp_path_factory.mktemp("ours") / "page.html"
    target.write_text(page.render(load(ROOT / "figures")), encoding="utf-8")
    return target.as_uri()


@pytest.fixture(params=["made_up", "ours"])
def address(request) -> str:
    return request.getfixturevalue(request.param)


@pytest.fixture(autouse=True)
def _afresh(browser) -> None:
    browser.scripts(True)
    browser.dark(False)
    browser.size(1280)
    browser.events.clear()


def settle(browser: Browser, script: str, wanted: object) -> None:
    """Wait a little until an expression has a value."""
    end = time.monotonic() + 5.0
    while (found := browser.run(script)) != wanted and time.monotonic() < end:
        time.sleep(0.02)
    assert found == wanted


def choose(browser: Browser, name: str, value: str) -> None:
    """Set a filter as a hand would: the field changes and says so."""
    browser.run(
        f"""(() => {{ const field = document.querySelector('#filters [name={name}]');
        field.value = {value!r};
        field.dispatchEvent(new Event("input", {{ bubbles: true }})); }})()"""
    )


def test_no_complaint_and_no_request(browser, address):
    browser.open(address)
    browser.run(WIDTHS)
    assert browser.complaints == []
    asked = [url for url in browser.requests if not url.startswith(("data:", "about:"))]
    assert asked == [address]


def test_a_request_and_a_complaint_would_be_seen(browser, tmp_path):
    """The two lists above are empty because nothing happens, not because nothing is seen."""
    bad = tmp_path / "bad.html"
    bad.write_text("<img src='http://127.0.0.1:9/x.png'><script>throw 1</script>", encoding="utf-8")
    browser.open(bad.as_uri())
    assert "http://127.0.0.1:9/x.png" in browser.requests
    assert browser.complaints


def test_the_page_may_ask_for_nothing_even_if_it_tried(browser, made_up):
    browser.open(made_up)
    browser.run(
        """document.body.append(Object.assign(new Image(), {src: "http://127.0.0.1:9/"}))"""
    )
    settle(browser, "true", True)
    assert any("Content Security Policy" in text for text in browser.complaints)


@pytest.mark.parametrize("name", ["made_up", "ours"])
def test_every_picture_is_shown(browser, request, name, tmp_path):
    browser.open(request.getfixturevalue(name))
    directory = publish(tmp_path / "f") if name == "made_up" else ROOT / "figures"
    expected = set(load(directory).pictures) - {"readme_stations"}
    widths = browser.run(WIDTHS)
    assert len(widths) == len(expected)
    assert min(widths) > 0
    shown = browser.run("[...document.querySelectorAll('article.panel:has(img)')].map((a) => a.id)")
    assert set(shown) == expected


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [320, 360, 768, 1280])
def test_nothing_sticks_out(browser, address, width, dark):
    browser.dark(dark)
    browser.size(width, phone=width < 500)
    browser.open(address)
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    browser.run(WIDTHS)
    assert browser.run("document.documentElement.scrollWidth") <= width


def test_the_ledger_is_a_table_on_a_desk_and_cards_on_a_phone(browser, made_up):
    browser.open(made_up)
    row = "getComputedStyle(document.querySelector('table.ledger tbody tr')).display"
    assert browser.run(row) == "table-row"
    browser.size(360, phone=True)
    assert browser.run(row) == "block"


def test_filters_hide_and_show(browser, made_up):
    browser.open(made_up)
    assert browser.run(SEEN) == list(VERDICTS)
    choose(browser, "verdict", "reproduced")
    assert browser.run(SEEN) == ["N1", "A3"]
    assert browser.run("document.getElementById('shown').textContent") == "2 of 5 claims"
    choose(browser, "experiment", "Algorithm")
    assert browser.run(SEEN) == ["A3"]
    choose(browser, "verdict", "")
    choose(browser, "experiment", "")
    choose(browser, "q", "WEAKEST question")
    assert browser.run(SEEN) == ["N1", "M2", "H1"]
    choose(browser, "q", "no such words")
    assert browser.run(SEEN) == []
    browser.run("document.querySelector('#filters button[type=reset]').click()")
    settle(browser, SEEN, list(VERDICTS))


def test_the_address_keeps_the_filter(browser, made_up):
    browser.open(made_up)
    choose(browser, "experiment", "Missing entries")
    kept = browser.run("location.hash")
    assert kept == "#experiment=Missing+entries"
    browser.open(made_up + kept)
    assert browser.run(SEEN) == ["M2"]
    # a link to a claim that is hidden shows it
    browser.run("document.querySelector('a[href=\"#claim-N1\"]').click()")
    settle(browser, SEEN, list(VERDICTS))


def test_without_scripts_the_ledger_is_whole_and_has_no_filters(browser, made_up):
    browser.scripts(False)
    browser.open(made_up)
    assert browser.run(SEEN) == list(VERDICTS)
    assert browser.run("document.getElementById('filters').getClientRects().length") == 0


def test_a_picture_is_enlarged_and_closed_by_keyboard(browser, made_up):
    browser.open(made_up)
    is_open = "document.getElementById('large').open"
    browser.run("document.querySelector('button.zoom').focus()")
    key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
    browser.call("Input.dispatchKeyEvent", type="keyDown", **key)
    browser.call("Input.dispatchKeyEvent", type="keyUp", **key)
    settle(browser, is_open, True)
    assert browser.run("document.querySelector('#large img').naturalWidth") == 40
    escape = {"key": "Escape", "code": "Escape", "windowsVirtualKeyCode": 27}
    browser.call("Input.dispatchKeyEvent", type="keyDown", **escape)
    browser.call("Input.dispatchKeyEvent", type="keyUp", **escape)
    settle(browser, is_open, False)


def test_it_can_be_printed(browser, made_up):
    browser.open(made_up)
    assert browser.call("Page.printToPDF", printBackground=True)["data"]
