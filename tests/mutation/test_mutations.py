"""The list of mutations fits the tree: each text occurs once, and each has tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from mutation.run import LEAST, ROOT, Mutation, load, run

MUTATIONS = load()


def test_the_list_is_long_enough_and_names_are_unique() -> None:
    names = [mutation.name for mutation in MUTATIONS]
    assert len(names) == len(set(names)) == LEAST + 2 == 40


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_matches_once_and_leaves_valid_code(mutation: Mutation) -> None:
    path = mutation.locate(ROOT)
    assert mutation.test_files(ROOT)
    before = path.read_text(encoding="utf-8")
    after = before.replace(mutation.text, mutation.replacement)
    assert after != before
    compile(after, str(path), "exec")


def test_a_fault_is_caught_or_survives_and_the_checkout_is_untouched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half.py").write_text("def half(x):\n    return x / 2\n")
    check = "from half import half\n\n\ndef test_half():\n    assert half({}) == {}\n"
    (tmp_path / "test_strong.py").write_text(check.format(4, 2))
    (tmp_path / "test_weak.py").write_text(check.format(0, 0))
    monkeypatch.setattr("mutation.run.ROOT", tmp_path)

    def fault(name: str, *tests: str, text: str = "x / 2") -> Mutation:
        return Mutation(name, ["*.py"], text, "x / 3", tests)

    outcomes = run([fault("one", "test_weak.py", "test_s*.py"), fault("two", "test_weak.py")], 1)
    assert [one.caught_by for one in outcomes] == ["test_strong.py::test_half", ""]
    assert "x / 2" in (tmp_path / "half.py").read_text()
    for text in ("x / 5", "half"):  # nowhere, and more than once
        with pytest.raises(LookupError, match="mutation 'bad'"):
            run([fault("bad", "test_weak.py", text=text)], 1)
    (tmp_path / "test_weak.py").write_text(check.format(0, 1))
    with pytest.raises(SystemExit, match="test_half"):
        run([fault("one", "test_weak.py")], 1)
