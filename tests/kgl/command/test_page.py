"""The page of ``kgl learn --report`` in a browser: offline, at all widths and by keyboard."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgl
from kgl.command import main

SKIPPED = "the report page was NOT opened in a browser"
HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "\"><svg onload=alert(2)>'",
    "{{data}} &lt;b&gt; \\u003c",
    "größe 東京 🏔 \u202eabc",
    "very long " * 40,
    "constructor",
    "__proto__",
    "a,b",
]

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


def write(path: Path, rows: list[list[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows)


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    """Four pages: towns on a map, hostile names and attributes, data alone, and probabilities."""
    root = tmp_path_factory.mktemp("pages")
    data = kgl.simulate.make_dataset("er", m=8, n=40, dependent=True, seed=1)
    towns = [f"town {k}" for k in range(8)]
    days = [f"2024-01-{k + 1:02d}" if k < 31 else f"2024-02-{k - 30:02d}" for k in range(40)]
    made = {}
    for page, names in (("towns", towns), ("hostile", HOSTILE)):
        values = np.round(data.Y, 4).tolist()
        write(root / "d.csv", [["date", *names], *([d, *row] for d, row in zip(days, values))])  # noqa: B905
        header = ["name", "lon", "lat", "height", "kind", "</script><i id=bad>"]
        rows = [
            [name, 6 + k / 3, 46 + (k * 3 % 8) / 6, 100 * k, "alp" if k % 3 else names[0], names[k]]
            for k, name in enumerate(names)
        ]
        write(root / "n.csv", [header, *rows])
        made[page] = root / f"{page}.html"
        more = ["--nodes", str(root / "n.csv"), "--x", "height,kind", "--density", "0.5", "--quiet"]
        words = ["learn", str(root / "d.csv"), "--time", "date", "--report", str(made[page])]
        assert main([*words, *more]) == 0
    made["plain"] = root / "plain.html"
    words = ["learn", str(root / "d.csv"), "--time", "date", "--report", str(made["plain"])]
    assert main([*words, "--quiet"]) == 0
    gaps = np.random.default_rng(0).random(data.Y.shape) < 0.1
    values = np.where(gaps, "", np.round(data.Y, 4).astype(str)).tolist()
    write(root / "g.csv", [["date", *HOSTILE], *([d, *row] for d, row in zip(days, values))])  # noqa: B905
    made["likely"] = root / "likely.html"
    words = ["learn", str(root / "g.csv"), "--time", "date", "--report", str(made["likely"])]
    assert main([*words, "--model", "bayesian", "--draws", "10", "--quiet"]) == 0
    return made


@pytest.fixture
def show(browser, pages) -> Iterator[Open]:
    """Open a page in a fresh context; what it complains of and asks for is kept on it."""
    contexts = []

    def opened(name: str = "towns", *, width: int = 1280, **how: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **how)
        contexts.append(context)
        context.set_default_timeout(120_000)  # a busy machine is no reason to fail
        tab = context.new_page()
        tab.complaints, tab.asked = [], []
        tab.on("console", lambda message: tab.complaints.append(message.text))
        tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
        tab.on("dialog", lambda dialog: (tab.complaints.append("dialog"), dialog.dismiss()))
        tab.on("request", lambda request: tab.asked.append(request.url))
        tab.goto(pages[name].as_uri())
        return tab

    yield opened
    for context in contexts:
        context.close()


def rows(tab: Any) -> list[list[str]]:
    return tab.evaluate(
        """() => [...document.querySelectorAll("#edges tbody tr")]
            .map((row) => [...row.cells].map((cell) => cell.textContent))"""
    )


def set_least(tab: Any, value: int) -> None:
    tab.evaluate(
        """(value) => {
            const slider = document.getElementById("least");
            slider.value = value;
            slider.dispatchEvent(new Event("input"));
        }""",
        value,
    )


def point_at(tab: Any, name: str) -> None:
    tab.locator("#canvas").scroll_into_view_if_needed()
    tab.mouse.move(*tab.evaluate("(name) => graphView.place(name)", name))


@pytest.mark.parametrize("name", ["towns", "hostile", "plain", "likely"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_complaint_no_request_and_nothing_sticks_out(show, pages, name, scheme):
    tab = show(name, color_scheme=scheme)
    for width in (1600, 1280, 768, 320):
        tab.set_viewport_size({"width": width, "height": 900})
        assert tab.evaluate("() => document.documentElement.scrollWidth") <= width
        assert tab.evaluate("() => document.getElementById('canvas').clientWidth") > 250
    for one in tab.locator("#color option").all():
        tab.select_option("#color", one.get_attribute("value"))
    assert tab.complaints == []
    asked = [url for url in tab.asked if not url.startswith("data:")]
    assert asked == [pages[name].as_uri()]


def test_the_graph_is_drawn(show):
    tab = show()
    colors = tab.evaluate(
        """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
            const canvas = document.getElementById("canvas");
            const { width, height } = canvas;
            const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
            const seen = new Set();
            for (let k = 0; k < data.length; k += 4) {
                if (data[k + 3] === 255) seen.add(data.slice(k, k + 3).join());
            }
            done(seen.size);
        })))"""
    )
    assert colors > 20


def test_search(show):
    tab = show()
    tab.fill("#search", "TOWN 3")
    assert tab.text_content("#about h3") == "town 3"
    assert tab.text_content("#matches") == "1 node found."
    tab.fill("#search", "town")
    assert tab.text_content("#matches") == "8 nodes found."
    tab.press("#search", "Enter")
    assert tab.text_content("#about h3") == "town 0"
    tab.fill("#search", "nowhere")
    assert tab.text_content("#matches") == "0 nodes found."


def test_hover_shows_attributes_and_neighbors(show):
    tab = show()
    edges = rows(tab)
    point_at(tab, "town 4")
    assert tab.text_content("#about h3") == "town 4"
    assert tab.text_content("#tip") == "town 4"
    about = tab.text_content("#about")
    assert "height400" in about
    linked = {b if a == "town 4" else a for a, b, _ in edges if "town 4" in (a, b)}
    shown = tab.locator("#about li button span:first-child").all_text_contents()
    assert set(shown) == linked
    tab.mouse.move(2, 2)
    assert tab.text_content("#about") == "No node chosen."


def test_neighbors_are_reached_by_keyboard(show):
    tab = show()
    tab.fill("#search", rows(tab)[0][0])
    tab.locator("#about li button").first.focus()
    tab.keyboard.press("Enter")
    assert tab.text_content("#about h3") == rows(tab)[0][1]


def test_filter_by_weight(show):
    tab = show()
    before = rows(tab)
    set_least(tab, 100)
    after = rows(tab)
    half = float(before[0][2].split()[0]) / 2
    assert after == [row for row in before if float(row[2].split()[0]) >= half]
    assert 0 < len(after) < len(before)
    assert tab.text_content("#shown").startswith(f"{len(after)} of {len(before)} edges shown")


def test_edges_are_shown_by_probability(show):
    tab = show("likely")
    before = rows(tab)
    chances = [float(row[2].split()[0]) for row in before]
    assert min(chances) >= 0.5
    assert chances == sorted(chances, reverse=True)
    assert "probability at least 0.5" in tab.text_content("#shown")
    weight, low, high = (float(x) for x in re.findall(r"[0-9.]+", before[0][3]))
    assert low <= weight <= high
    set_least(tab, 0)  # the page has less likely pairs too
    assert len(rows(tab)) > len(before)
    set_least(tab, 200)
    assert all(float(row[2].split()[0]) == 1.0 for row in rows(tab))
    set_least(tab, 20)
    tab.click("#edges thead th:nth-child(4) button")
    weights = [float(row[3].split()[0]) for row in rows(tab)]
    assert weights == sorted(weights, reverse=True)
    assert len(weights) > 2


@pytest.mark.parametrize(("name", "said"), [("likely", "probability"), ("towns", "weight")])
def test_an_edge_says_how_strong_it_is(show, name, said):
    tab = show(name)
    tab.locator("#canvas").scroll_into_view_if_needed()
    places = (
        "([a, b, t]) => [0, 1].map((k) => "
        "(1 - t) * graphView.place(a)[k] + t * graphView.place(b)[k])"
    )
    seen = set()
    for row in rows(tab):
        for t in (0.3, 0.5, 0.7):  # another node may be near
            tab.mouse.move(*tab.evaluate(places, [*row[:2], t]))
            seen.add(tab.text_content("#tip"))
    shown = [text for text in seen if f": {said} " in text]
    assert shown
    assert all(("weight" in text) for text in shown)
    assert any(row[2].split()[0] in text for row in rows(tab) for text in shown)


def test_filled_values_have_intervals(show, pages):
    tab = show("likely")
    text = """() => [...document.querySelectorAll("#filled tbody tr")]
        .map((row) => [...row.cells].map((cell) => cell.textContent))"""
    listed = tab.evaluate(text)
    assert tab.text_content("#which") == f"{len(listed)} values."
    for _, day, value, ends in listed:
        low, high = (float(end) for end in ends.split(" to "))
        assert low < float(value) < high
        assert day.startswith("2024-")
    name = listed[0][0]
    tab.fill("#search", name)
    own = tab.evaluate(text)
    assert own == [row for row in listed if row[0] == name]
    assert 0 < len(own) < len(listed)
    assert show("towns").locator("#filled").is_hidden()


def test_sorting(show):
    tab = show()
    weights = [float(row[2].split()[0]) for row in rows(tab)]
    assert weights == sorted(weights, reverse=True)
    tab.click("#edges thead th:nth-child(3) button")
    assert [float(row[2].split()[0]) for row in rows(tab)] == sorted(weights)
    tab.click("#edges thead th:nth-child(1) button")
    names = [row[0] for row in rows(tab)]
    assert names == sorted(names)
    assert tab.get_attribute("#edges thead th:nth-child(1)", "aria-sort") == "ascending"


def test_zoom_and_pan(show):
    tab = show()
    zoomed = "() => graphView.zoomed()"
    tab.click("#closer")
    assert tab.evaluate(zoomed) == pytest.approx(1.4)
    tab.click("#whole")
    assert tab.evaluate(zoomed) == pytest.approx(1.0)
    canvas = tab.locator("#canvas")
    canvas.focus()
    tab.keyboard.press("+")
    assert tab.evaluate(zoomed) == pytest.approx(1.25)
    before = tab.evaluate("() => graphView.place('town 1')")
    tab.keyboard.press("ArrowRight")
    after = tab.evaluate("() => graphView.place('town 1')")
    assert after == pytest.approx([before[0] - 40, before[1]])
    box = canvas.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.mouse.move(*middle)
    tab.mouse.wheel(0, -300)
    tab.wait_for_function("() => graphView.zoomed() > 2")
    tab.keyboard.press("0")
    before = tab.evaluate("() => graphView.place('town 1')")
    corner = box["x"] + 8, box["y"] + 8
    tab.mouse.move(*corner)
    tab.mouse.down()
    tab.mouse.move(corner[0] + 60, corner[1] + 30, steps=4)
    tab.mouse.up()
    after = tab.evaluate("() => graphView.place('town 1')")
    assert after == pytest.approx([before[0] + 60, before[1] + 30], abs=1.0)


def test_hostile_names_are_only_text(show):
    tab = show("hostile")
    for name in HOSTILE:
        point_at(tab, name.strip())
        assert tab.text_content("#about h3") == name.strip()
    assert tab.evaluate("() => document.querySelectorAll('img, svg, i, b').length") == 0
    tab.fill("#search", HOSTILE[0])
    assert tab.text_content("#about h3") == HOSTILE[0]
    assert {row[0] for row in rows(tab)} | {row[1] for row in rows(tab)} <= {
        n.strip() for n in HOSTILE
    }
    assert tab.complaints == []


def test_the_policy_of_the_page_forbids_requests_and_foreign_scripts(show):
    tab = show()
    with tab.expect_console_message(lambda message: "Content Security Policy" in message.text):
        tab.evaluate("() => { new Image().src = 'http://127.0.0.1:9/'; }")
    run = """() => {
        const script = document.createElement("script");
        script.textContent = "window.foreign = 1";
        document.body.append(script);
    }"""
    with tab.expect_console_message(lambda message: "Content Security Policy" in message.text):
        tab.evaluate(run)
    assert tab.evaluate("() => window.foreign === undefined")


def test_without_scripts_the_numbers_are_there(show):
    tab = show(java_script_enabled=False)
    assert tab.locator("noscript").is_visible()
    assert "KKT residual" in tab.text_content(".facts")
    assert "blocks of consecutive rows" in tab.text_content("main")


def test_the_data_of_the_page_cannot_end_their_element(pages):
    """Without a browser: the escapes themselves."""
    text = pages["hostile"].read_text(encoding="utf-8")
    (block,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert "<" not in block
    assert json.loads(block)["names"] == [name.strip() for name in HOSTILE]
    assert "onerror" not in text.replace(block, "")
    assert not re.search(r"https?://", text)
