"""The site: its checks find faults, versions are laid out, and examples keep their conventions."""

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest

from docs._site import figures, links, pages, publish, release

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_the_link_check_finds_lost_pages_anchors_and_pictures(tmp_path):
    write(tmp_path / "b.html", '<h1 id="here">b</h1><a href="https://elsewhere.org/x">x</a>')
    write(tmp_path / "a.html", '<a href="b.html#here">b</a><a href="#top">a</a><p id="top">')
    assert links.problems(tmp_path) == []
    write(
        tmp_path / "sub/c.html",
        '<a href="../b.html#gone"></a><a href="d.html"></a><img src="../e.png">',
    )
    found = links.problems(tmp_path)
    assert [line.split(": ")[1].split()[0] for line in found] == [
        "../b.html#gone",
        "d.html",
        "../e.png",
    ]
    assert links.main(tmp_path) == 1


def test_versions_are_published_side_by_side(tmp_path):
    built, site, published = (tmp_path / name for name in ("built", "site", "pages"))
    write(built / "docs/index.html", "new")
    write(built / "binder/requirements.txt", "kgl")
    write(published / "0.2/docs/index.html", "old")
    write(published / "0.10/docs/index.html", "old")
    write(published / "dev/docs/gone.html", "old")
    publish.main([str(built), str(site), "dev"])
    publish.merge(site, published, "https://kgl.org")
    assert not (published / "dev/docs/gone.html").exists()
    assert (published / "binder/requirements.txt").exists()
    switcher = json.loads((published / "switcher.json").read_text(encoding="utf-8"))
    assert [entry["version"] for entry in switcher] == ["0.10", "0.2", "dev"]
    assert [entry["preferred"] for entry in switcher] == [True, False, False]
    assert "0.10/docs/index.html" in (published / "index.html").read_text(encoding="utf-8")


def test_the_notes_of_a_release_are_its_part_of_the_changelog():
    sections = ("## Unreleased", "## 0.1.1 (2027-01-02)", "- new", "## 0.1.0 (2026-12-01)", "- old")
    changelog = "\n\n".join(["# Changelog", *sections]) + "\n"
    assert release.notes(changelog, "0.1.1") == "- new\n"
    assert release.notes(changelog, "0.1.0") == "- old\n"
    for version in ("0.1", "0.2.0", "Unreleased"):
        with pytest.raises(ValueError, match="no text"):
            release.notes(changelog, version)
    with pytest.raises(ValueError, match="no text"):
        release.notes("## 0.1.0\n\n- not dated\n", "0.1.0")


def test_a_version_without_dev_can_be_tagged(capsys):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if "dev" not in project["version"]:
        assert release.main(project["version"]) == 0
    assert release.main("0.0.0") == 1
    assert "pyproject.toml has" in capsys.readouterr().err


def test_links_to_directories_lead_to_the_repository():
    text = "[f](../figures) [g](../README.md) [h](models.md) [i](https://x.org)"
    moved = pages.repository_links("docs/faq", text, "https://git.org/kgl")
    assert moved == (
        "[f](https://git.org/kgl/tree/main/figures) [g](/docs/index.md) [h](models.md) "
        "[i](https://x.org)"
    )


def test_links_to_examples_lead_to_the_gallery():
    text = "[a](../examples/plot_04_returns.py) [b](../examples/README.rst)"
    moved = pages.repository_links("docs/faq", text, "https://git.org/kgl")
    assert moved == "[a](/docs/gallery/plot_04_returns.rst) [b](/docs/gallery/index.rst)"


def test_pages_get_their_place_in_the_navigation():
    index = pages.extended("docs/index", "# Documentation\n\nThe map.\n")
    assert "The map." in index
    assert "Start </docs/start>" in index
    assert "/docs/faq" in pages.extended("docs/start", "# Start\n")
    assert "reference/kgl.kernels" in pages.extended("docs/api", "# API\n")
    assert pages.extended("docs/faq", "# FAQ\n") == "# FAQ\n"


def test_every_figure_of_the_paper_is_on_one_page():
    replication = (ROOT / "REPLICATION.md").read_text(encoding="utf-8")
    found = figures.listed(replication)
    titles = [title.partition(":")[0] for title, _ in found["Of the paper"]]
    assert titles == [f"Figure {k}" for k in range(1, 14)]
    page = figures.page(replication)
    pictures = re.findall(r"{figure} \.\./\.\./(\S+)", page)
    listed = replication.partition("\n## Figures\n")[2].partition("\n## ")[0]
    assert sorted(pictures) == sorted(re.findall(r"\((figures/\S+\.png)\)", listed))
    studies = re.findall(r"^snakemake .* study=(\w+)", page, re.MULTILINE)
    assert all((ROOT / f"conf/study/{study}.yaml").exists() for study in studies)
    assert len(studies) == sum(map(len, found.values()))


def test_there_are_at_least_ten_examples():
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_names_its_data_and_has_a_picture_and_a_lesson(path):
    text = path.read_text(encoding="utf-8")
    opening = ast.get_docstring(ast.parse(text))
    assert opening is not None
    title, rule = opening.splitlines()[:2]
    assert rule == "=" * len(title)
    assert re.search(r"\*\*(real|simulated)", opening) or "**simulated\n" in opening
    assert "# **Lesson.**" in text
    assert "plot" in text
    assert path.name.startswith("plot_")
