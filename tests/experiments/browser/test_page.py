"""The report page in a browser: complete, offline, usable at all widths and by keyboard."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from verdict_files import VERDICTS, publish

from experiments.measured import KINDS
from experiments.registry import split_protocol
from experiments.report.load import load
from experiments.report.render import gather, page

ROOT = Path(__file__).resolve().parents[3]
SKIPPED = "the report page was NOT opened in a browser"
#: Claims whose rows are shown.
SEEN = """() => [...document.querySelectorAll("table.claims-table tbody tr")]
    .filter((row) => row.getClientRects().length).map((row) => row.id.slice(6))"""
#: Pictures load late; wait for all of them.
WIDTHS = """() => Promise.all([...document.querySelectorAll("img[src]")].map(async (one) => {
    one.loading = "eager";
    await one.decode();
    return one.naturalWidth;
}))"""

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium, or that of KGL_CHROMIUM, by Playwright."""
    sync = pytest.importorskip("playwright.sync_api", reason=f"{SKIPPED}; pip install playwright")
    named = os.environ.get("KGL_CHROMIUM")
    names = [named] if named else ["chromium", "chromium-browser", "google-chrome"]
    executable = next((path for name in names if (path := shutil.which(name))), None)
    if executable is None:
        pytest.skip(f"{SKIPPED}; apt-get install chromium")
    with sync.sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-dev-shm-usage"]
        one = playwright.chromium.launch(executable_path=executable, args=flags)
        yield one
        one.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, tuple[Path, str]]:
    """Directories of published files and the addresses of their pages: made up, and tracked."""
    root = tmp_path_factory.mktemp("pages")
    found = {}
    for name, directory in (("made_up", publish(root / "figures")), ("ours", ROOT / "figures")):
        target = root / f"{name}.html"
        target.write_text(page(gather(load(directory))), encoding="utf-8")
        found[name] = directory, target.as_uri()
    return found


@pytest.fixture
def show(browser, pages) -> Iterator[Open]:
    """Open a page in a fresh context; what it complains of and asks for is kept on it."""
    contexts = []

    def opened(name: str = "made_up", *, tail: str = "", width: int = 1280, **how: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **how)
        contexts.append(context)
        tab = context.new_page()
        tab.complaints, tab.asked = [], []
        tab.on("console", lambda message: tab.complaints.append(message.text))
        tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
        tab.on("request", lambda request: tab.asked.append(request.url))
        tab.goto(pages[name][1] + tail if name in pages else name)
        return tab

    yield opened
    for context in contexts:
        context.close()


@pytest.mark.parametrize("name", ["made_up", "ours"])
def test_every_picture_is_shown_without_complaint_or_request(show, pages, name):
    tab = show(name)
    directory, address = pages[name]
    # the multiverse has a picture until the next run; studies apart have their own pages
    apart = {"readme_stations", "specifications"}
    pictures = {
        picture
        for picture in set(load(directory).pictures) - apart
        if not picture.startswith(KINDS)
    }
    expected = {split_protocol(picture)[0] for picture in pictures}
    widths = tab.evaluate(WIDTHS)
    assert len(widths) == len(pictures)
    assert min(widths) > 0
    shown = "() => [...document.querySelectorAll('article.panel:has(img)')].map((a) => a.id)"
    assert set(tab.evaluate(shown)) == expected
    assert tab.complaints == []
    assert [url for url in tab.asked if not url.startswith(("data:", "about:"))] == [address]


def test_a_request_and_a_complaint_would_be_seen(show, tmp_path):
    """The two lists above are empty because nothing happens, not because nothing is recorded."""
    bad = tmp_path / "bad.html"
    bad.write_text("<img src='http://127.0.0.1:9/x.png'><script>throw 1</script>", encoding="utf-8")
    tab = show(bad.as_uri())
    assert "http://127.0.0.1:9/x.png" in tab.asked
    assert tab.complaints


def test_the_policy_of_the_page_forbids_requests(show):
    tab = show()
    with tab.expect_console_message(lambda message: "Content Security Policy" in message.text):
        tab.evaluate("() => { new Image().src = 'http://127.0.0.1:9/'; }")


def test_pictures_of_two_protocols_are_beside_each_other_or_below_on_a_phone(show):
    places = """() => [...document.querySelectorAll("#fig2 img")].map((one) => {
        const box = one.getBoundingClientRect();
        return [box.left, box.top];
    })"""
    for width, beside in ((1280, True), (360, False)):
        tab = show(width=width)
        tab.evaluate(WIDTHS)
        (left, top), (right, bottom) = tab.evaluate(places)
        assert (right > left + 100) == beside
        assert (bottom > top + 20) != beside


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["made_up", "ours"])
def test_nothing_sticks_out_at_any_width(show, name, scheme):
    tab = show(name, color_scheme=scheme)
    tab.evaluate("() => document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    tab.evaluate(WIDTHS)
    for width in (1280, 768, 500, 360, 320):
        tab.set_viewport_size({"width": width, "height": 900})
        assert tab.evaluate("() => document.documentElement.scrollWidth") <= width


def test_claims_are_a_table_on_a_desk_and_cards_on_a_phone(show):
    row = "() => getComputedStyle(document.querySelector('.claims-table tbody tr')).display"
    assert show().evaluate(row) == "table-row"
    assert show(width=360).evaluate(row) == "block"


def test_filters_hide_and_show(show):
    tab = show()
    assert tab.evaluate(SEEN) == list(VERDICTS)
    tab.select_option("[name=verdict]", "reproduced")
    assert tab.evaluate(SEEN) == ["N1", "M2", "S1", "A3"]
    assert tab.text_content("#shown") == "4 of 6 claims"
    tab.select_option("[name=under]", "described")
    assert tab.evaluate(SEEN) == ["M2"]
    tab.select_option("[name=under]", "")
    tab.select_option("[name=experiment]", "Algorithm")
    assert tab.evaluate(SEEN) == ["A3"]
    tab.select_option("[name=verdict]", "")
    tab.select_option("[name=experiment]", "")
    tab.fill("[name=q]", "WEAKEST criterion")
    assert tab.evaluate(SEEN) == ["N1", "M2", "H1"]
    tab.fill("[name=q]", "no such words")
    assert tab.evaluate(SEEN) == []
    tab.click("#filters button[type=reset]")
    tab.wait_for_function(f"({SEEN})().length === {len(VERDICTS)}")


def test_the_address_keeps_the_filter(show):
    tab = show()
    tab.select_option("[name=experiment]", "Missing entries")
    kept = tab.evaluate("() => location.hash")
    assert kept == "#experiment=Missing+entries"
    again = show(tail=kept)
    assert again.evaluate(SEEN) == ["M2"]
    # a link to a claim that is hidden shows it
    again.evaluate("() => document.querySelector('a[href=\"#claim-N1\"]').click()")
    again.wait_for_function(f"({SEEN})().length === {len(VERDICTS)}")


def test_without_scripts_all_claims_are_shown_and_there_are_no_filters(show):
    tab = show(java_script_enabled=False)
    rows = tab.locator("table.claims-table tbody tr")
    assert [row.get_attribute("id")[6:] for row in rows.all() if row.is_visible()] == list(VERDICTS)
    assert not tab.locator("#filters").is_visible()


def test_a_picture_is_enlarged_and_closed_by_keyboard(show):
    tab = show()
    tab.locator("button.zoom").first.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_function("() => document.getElementById('large').open")
    tab.wait_for_function("() => document.querySelector('#large img').naturalWidth === 40")
    tab.keyboard.press("Escape")
    tab.wait_for_function("() => !document.getElementById('large').open")


def test_it_can_be_printed(show):
    assert show().pdf(print_background=True).startswith(b"%PDF")
