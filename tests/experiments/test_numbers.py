"""Numbers of the texts come from published tables: none is written by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from verdict_files import NASTY, publish, pure_noise

from experiments.report import load, write_report
from experiments.report.numbers import Numbers
from experiments.report.render import END, START, paper_text

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "experiments/report"

#: Digits that are no results: names of figures, claims and models, and what a term means.
NAMES = (
    r"[Ff]igures? \d+",
    r"\b[NMYSHAWU]\d\b",
    r"\bGL-2step\b",
    r"\b5th and 95th percentiles?\b",
    r"\b95 % (?:interval|of cases)\b",
    r"\b20\d\d\b",  # years
)
#: What else each text may have, and why.
ALLOWED = {
    "README.md": (
        r"Python 3\.\d+",
        r"\d+ to \d+ minutes on two cores",  # what to expect; the report page has what a run took
        r"24 simulated stations",  # of the example, checked by running it
        r"0\.3 for guessing and 1 at best",  # the density, which the paper states; the best score
    ),
    "experiments/report/report.md.jinja": (
        r"\(1 is best,\s+guessing gives the density, 0\.3\)",
    ),
    "experiments/report/findings.md.jinja": (),
    "experiments/report/when-it-pays.md.jinja": (),
    "experiments/report/trust-study.md.jinja": (),
}  # fmt: skip


def by_hand(text: str, allowed: tuple[str, ...] = ()) -> list[str]:
    """Return the lines of a text that hold a number by hand, as they are without the rest."""
    start, end = re.escape(START), re.escape(END)

    def looked_up(found: re.Match[str]) -> str:
        # by a call, or an attribute; a literal is by hand
        plain = re.sub(r"\[\d\]", "", found[0])
        return " " if "(" in plain or not re.search(r"\d", plain) else plain

    text = re.sub(r"\{\{.*?\}\}", looked_up, text, flags=re.DOTALL)
    for pattern in (
        rf"{start}.*?{end}",  # generated
        r"\{#.*?#\}|\{%.*?%\}",  # of Jinja
        r"^```.*?^```$",  # code
        r"`[^`\n]*`",
        r"\]\([^)\s]*\)",  # addresses
        *allowed,
        *NAMES,
    ):
        text = re.sub(pattern, " ", text, flags=re.DOTALL | re.MULTILINE)
    return [line.strip() for line in text.splitlines() if re.search(r"\d", line)]


@pytest.mark.parametrize("name", ALLOWED)
def test_no_number_is_written_by_hand(name: str) -> None:
    assert by_hand((ROOT / name).read_text(encoding="utf-8"), ALLOWED[name]) == []


@pytest.mark.parametrize("name", ALLOWED)
def test_every_exception_is_needed(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for pattern in ALLOWED[name]:
        assert re.search(pattern, text), f"{name} has no {pattern}"


def test_a_number_by_hand_is_found() -> None:
    assert by_hand("KGL-N has an APS of 0.87.") == ["KGL-N has an APS of 0.87."]
    assert by_hand("As many as 12 claims hold, see Figure 2.")
    assert by_hand("{{ mean('a') }} of 37")
    assert by_hand("{{ '0.87' }}")
    fine = (
        "Figure 12, N1, [a](b-2.png), `x = 3`, {{ f(4) }}, {# 5 #}, {% if 6 %}\n```text\n7\n```\n"
    )
    assert by_hand(f"{fine}{START}\n8\n{END}\n") == []


@pytest.fixture
def numbers(tmp_path: Path) -> Numbers:
    return Numbers(load(publish(tmp_path / "figures")))


def test_numbers_are_looked_up(numbers: Numbers) -> None:
    where = {"data": "pure_noise", "model": "kgln", "metric": "aps"}
    assert numbers.mean("control_noise-printed", **where) == "0.80"
    assert numbers.mean("control_noise-described", digits=3, **where) == "0.550"
    assert numbers.ci("control_noise-described", **where) == "0.54 to 0.56"
    assert numbers.ci("fig2-described", model="gl", level=0.0) == "0.20 to 0.60"
    assert numbers.gain("fig2-described", "kgln", "gl", metric="aps") == "+0.30"
    assert numbers.claim("M2", "described").verdict.label == "reproduced"
    assert numbers.claim("M2", "printed").verdict.label == "partly reproduced"
    assert numbers.claim("A3").held == 1
    assert numbers.named("described", "scale") == "1"
    assert numbers.named("described", "axis") == "variance"
    assert numbers.named("printed", "distance_printed") == "0.043"
    assert numbers.named("described", "p_value", 2) == "0.001"
    assert [numbers.count(key) for key in ("both", "printed", "all")] == [1, 1, 4]
    assert numbers.count("neither", "criteria") == 2
    assert numbers.held("described") == "4 of 7"
    assert numbers.unmet() == [("N5", f"sentence 1 {NASTY}", "1.8")]
    assert numbers.setting("printed", "scale", "0.015") == {"prior": "0.50", "posterior": "0.90"}


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda n: n.mean("fig99", model="gl"), "no table fig99"),
        (lambda n: n.mean("fig2-printed", other="gl"), "fig2-printed has no column other"),
        (lambda n: n.mean("fig2-printed", model="nobody"), "fig2-printed has no row"),
        (lambda n: n.ci("fig2-printed", model="gl"), "2 rows"),
        (lambda n: n.claim("N1"), "N1 was not judged"),
        (lambda n: n.claim("N9", "printed"), "N9-printed was not judged"),
        (lambda n: n.named("printed", "colour"), "no colour of printed"),
        (lambda n: n.part("nothing"), "no part nothing"),
        (lambda n: n.count("paper"), "counted as paper"),
        (lambda n: n.held("paper"), "under paper"),
        (lambda n: n.setting("printed", "scale", "7"), "scale = 7"),
    ],
)
def test_a_number_that_is_in_no_table_is_an_error(numbers: Numbers, call, match: str) -> None:
    with pytest.raises(LookupError, match=match):
        call(numbers)


def published(directory: Path) -> Path:
    """Publish made-up files, with the levels of Figure 2 that the findings are about."""
    publish(directory)
    for path in directory.glob("fig2-*.csv"):
        known = [
            {"graph": "sbm", "model": model, "metric": "aps", "level": level, "mean": 0.625}
            for model in ("gl", "kgl", "kglo", "kglagnostic") for level in (0.0, 0.5, 2.0)
        ]  # fmt: skip
        pd.concat([pd.read_csv(path), pd.DataFrame(known)]).to_csv(path, index=False)
    return directory


def test_the_findings_follow_the_tables(tmp_path: Path) -> None:
    directory = published(tmp_path / "figures")
    text = paper_text(load(directory))
    assert "0.80 under *printed* and 0.55 under *described*" in text
    assert "| alpha | 100 | 100 |" in text
    assert "(N5): the nearest misses by 1.8 tolerances" in text
    assert "1 are reproduced under both protocols" in text
    pure_noise(0.5).to_csv(directory / "control_noise-described.csv", index=False)
    assert "0.80 under *printed* and 0.30 under *described*" in paper_text(load(directory))
    # nothing but the three figures
    shown = set(re.findall(r"!\[[^]]*\]\(\.\./figures/([\w-]+)\.png\)", text))
    assert shown == {"inference", "fig2-printed", "fig2-described", "leak"}


def test_findings_without_a_table_are_left_as_they_were(tmp_path: Path, capsys) -> None:
    directory = published(tmp_path / "figures")
    path, lines = tmp_path / "findings.md", []
    write_report(directory, tmp_path / "R.md", findings=path, log=lines.append)
    before = path.read_text(encoding="utf-8")
    assert before == paper_text(load(directory))
    (directory / "control_noise-described.csv").unlink()
    write_report(directory, tmp_path / "R.md", findings=path, log=lines.append)
    assert path.read_text(encoding="utf-8") == before
    assert "was not written: there is no table control_noise-described" in lines[-2]
    assert "was not written" in capsys.readouterr().err


def test_the_tracked_findings_are_what_figures_give() -> None:
    found = (ROOT / "docs/findings.md").read_text(encoding="utf-8")
    assert found == paper_text(load(ROOT / "figures"))
    # about three pages
    assert len(found.split()) <= 1600
