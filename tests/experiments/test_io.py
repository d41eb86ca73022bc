"""Files of the replication: whole or absent, the same bytes for the same content, and signed."""

import json
import os
import platform
import re
import signal
import subprocess
import sys
import weakref
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import io
from experiments.io import (
    array_digest,
    atomic,
    cached,
    digest,
    load_arrays,
    load_fits,
    load_table,
    logged,
    provenance,
    save_arrays,
    save_csv,
    save_table,
    sweep,
)  # fmt: skip
from experiments.lookup import ROOT

SETTINGS = {"data": {"noise": 0.5, "n": 10}, "grid": [1e-7, 0.1], "model": "kgl", "seed": None}
ARRAYS = {
    "grid.psi": np.array([1e-7, 0.1]),
    "sse": np.random.default_rng(0).normal(size=(2, 3)),
    "mse": np.full((2, 3), np.nan),
    "n_iter": np.arange(6).reshape(2, 3),
    "converged": np.array([[True, False, True]] * 2),
}
TABLE = pd.DataFrame(
    {
        "model": ["kgl", "gl", "kgl"],
        "replicate": [0, 1, 2],
        "lam": [0.1, np.nan, 1e-300],
        "at_edge": ["", "lam+psi", "ü"],
        "value": [1 / 3, -0.0, np.inf],
    }
)


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "table.csv"
    with atomic(path) as part:
        assert part.parent == path.parent  # the same disk, so that moving it is one step
        assert part.suffix == ".csv"
        assert str(os.getpid()) in part.name  # two writers do not meet
        part.write_text("half")
        assert not path.exists()
        part.write_text("whole")
    assert path.read_text() == "whole"
    assert list(path.parent.iterdir()) == [path]


def test_what_killed_writers_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path; from experiments.io import atomic\n"
        "with atomic(Path(sys.argv[1])) as part:\n"
        "    part.write_text('half')\n"
        "    os.kill(os.getpid(), getattr(signal, 'SIGKILL', signal.SIGTERM))\n"
    )
    path = tmp_path / "fits" / "one.npz"
    killed = subprocess.run([sys.executable, "-c", script, str(path)], cwd=ROOT, check=False)
    assert killed.returncode != 0
    (stray,) = path.parent.iterdir()
    path.write_text("whole")
    (path.parent / ".notes.part.txt").write_text("a user's own file")
    elsewhere, old = path.parent / ".a.othernode-7.part.npz", path.parent / ".b.othernode-7.part"
    for part in (elsewhere, old):
        part.write_text("of a job on another machine")
    os.utime(old, (0, 0))
    with atomic(path.with_name("two.npz")) as mine:
        mine.write_text("this one is alive")
        assert sorted(sweep(tmp_path, tmp_path / "absent")) == sorted([stray, old])
    left = {found.name for found in path.parent.iterdir()}
    assert left == {"one.npz", "two.npz", ".notes.part.txt", elsewhere.name}


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("old", ["old", None])
def test_an_error_leaves_the_old_file_and_no_part(error, old, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    if old is not None:
        path.write_text(old)

    def write() -> None:
        with atomic(path) as part:
            part.write_text("half")
            raise error

    with pytest.raises(error):
        write()
    assert (path.read_text() if path.exists() else None) == old
    assert list(tmp_path.iterdir()) == ([path] if old else [])


def test_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    save_arrays(tmp_path / "a.npz", ARRAYS, SETTINGS)
    arrays, record = load_arrays(tmp_path / "a.npz")
    assert set(arrays) == set(ARRAYS)
    for name, values in ARRAYS.items():
        assert arrays[name].dtype == values.dtype
        np.testing.assert_array_equal(arrays[name], values)
    assert record["settings"] == SETTINGS


def test_the_fits_of_a_dataset_are_read_by_model(tmp_path: Path) -> None:
    arrays = {f"{model}/{name}": a for model in ("kgl", "gl") for name, a in ARRAYS.items()}
    save_arrays(tmp_path / "a.npz", arrays, SETTINGS)
    fits, record = load_fits(tmp_path / "a.npz")
    assert list(fits) == ["kgl", "gl"]
    for fit in fits.values():
        assert list(fit) == list(ARRAYS)
        for name, values in ARRAYS.items():
            np.testing.assert_array_equal(fit[name], values, strict=True)
    assert record["settings"] == SETTINGS


def of_levels() -> dict[str, np.ndarray]:
    """Arrays of two levels, one of which is the beginning of the other's name."""
    return {f"noise-{level}/{k}": a + level for level in (0.5, 0.55) for k, a in ARRAYS.items()}


def test_one_level_of_a_file_is_read_without_the_others(tmp_path: Path) -> None:
    path = tmp_path / "sbm-independent.npz"
    save_arrays(path, of_levels(), {"noise-0.5": SETTINGS, "noise-0.55": {}})
    for level in (0.5, 0.55):
        arrays, record = load_arrays(path, f"noise-{level}")
        assert list(arrays) == list(ARRAYS)
        for name, values in ARRAYS.items():
            np.testing.assert_array_equal(arrays[name], values + level, strict=True)
        assert set(record["settings"]) == {"noise-0.5", "noise-0.55"}
    assert list(load_arrays(path)[0]) == list(of_levels())
    for level in ("noise-0", "noise-1.0", "noise-0.5/sse"):
        with pytest.raises(ValueError, match=rf"independent\.npz .*no level '{level}'"):
            load_arrays(path, level)


def test_a_corrupt_member_is_refused_by_name_and_leaves_other_levels(tmp_path: Path) -> None:
    path, member = tmp_path / "a.npz", "noise-0.5/sse.npy"
    save_arrays(path, of_levels(), SETTINGS)
    with zipfile.ZipFile(path) as archive:
        found = archive.getinfo(member)
    start = found.header_offset + 30 + len(member) + 20  # behind the header and its sizes
    whole = path.read_bytes()
    for place in range(start, start + found.compress_size, 3):
        spoiled = bytearray(whole)
        spoiled[place] ^= 255
        path.write_bytes(spoiled)
        for level in ("", "noise-0.5"):
            with pytest.raises(ValueError, match="remove it") as caught:
                load_arrays(path, level)
            assert str(path) in str(caught.value)
            assert member in str(caught.value)
        assert set(load_arrays(path, "noise-0.55")[0]) == set(ARRAYS)


def test_arrays_that_come_one_by_one_are_not_in_memory_at_once(tmp_path: Path) -> None:
    before: list[weakref.ref[np.ndarray]] = []

    def array(value: float) -> np.ndarray:
        assert all(one() is None for one in before)  # gone when the next is made
        made = np.full(9, float(value))
        before.append(weakref.ref(made))
        return made

    def drawn() -> Iterator[tuple[str, np.ndarray]]:
        for level in range(5):
            yield f"noise-{level}/Y", array(level)

    save_arrays(tmp_path / "a.npz", drawn(), SETTINGS)
    for level in range(5):
        assert load_arrays(tmp_path / "a.npz", f"noise-{level}")[0]["Y"].tolist() == [level] * 9
    # the same bytes as those of a mapping
    together = {f"noise-{level}/Y": np.full(9, float(level)) for level in range(5)}
    save_arrays(tmp_path / "b.npz", together, SETTINGS)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_tables_come_back_as_they_were(tmp_path: Path) -> None:
    save_table(tmp_path / "t.parquet", TABLE, SETTINGS)
    table, record = load_table(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(table, TABLE, check_exact=True)
    assert np.signbit(table["value"][1])
    assert record["settings"] == SETTINGS
    save_table(tmp_path / "u.parquet", TABLE[TABLE["model"] == "kgl"], SETTINGS)
    assert load_table(tmp_path / "u.parquet")[0].index.tolist() == [0, 1]  # no index is kept
    # others can read them too
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), TABLE, check_exact=True)


def test_the_same_content_has_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("one", "another"):
        save_arrays(tmp_path / folder / "a.npz", ARRAYS, SETTINGS)
        save_table(tmp_path / folder / "t.parquet", TABLE, SETTINGS)
        save_csv(tmp_path / folder / "t.csv", TABLE)
    for name in ("a.npz", "t.parquet", "t.csv"):
        first, second = tmp_path / "one" / name, tmp_path / "another" / name
        assert first.read_bytes() == second.read_bytes()
    lines = (tmp_path / "one/t.csv").read_bytes().decode().split("\n")
    assert lines[:2] == ["model,replicate,lam,at_edge,value", "kgl,0,0.1,,0.333333"]
    # the archive has a field for times
    with zipfile.ZipFile(tmp_path / "one" / "a.npz") as archive:
        assert {info.date_time[0] for info in archive.infolist()} == {1980}
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_DEFLATED}
    save_arrays(tmp_path / "a.npz", ARRAYS, {**SETTINGS, "seed": 1})
    assert (tmp_path / "a.npz").read_bytes() != (tmp_path / "one" / "a.npz").read_bytes()


@pytest.mark.parametrize("kind", ["arrays", "table"])
def test_files_that_are_not_whole_are_refused_by_name(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.file"
    save, load = (save_arrays, load_arrays) if kind == "arrays" else (save_table, load_table)
    save(path, ARRAYS if kind == "arrays" else TABLE, SETTINGS)
    whole = path.read_bytes()
    half = len(whole) // 2
    for spoiled in (b"", b"hello", whole[:half], whole[:-1], whole[:half] + whole[half + 8 :]):
        path.write_bytes(spoiled)
        with pytest.raises(ValueError, match="remove it") as caught:
            load(path)
        assert str(path) in str(caught.value)


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", sse=np.ones(2))
    with pytest.raises(ValueError, match="not a file of this workflow"):
        load_arrays(tmp_path / "a.npz")
    pickled = np.array([{"a": 1}], dtype=object)
    np.savez(tmp_path / "b.npz", sse=pickled)
    with pytest.raises(ValueError, match="not a file of this workflow"):
        load_arrays(tmp_path / "b.npz")
    with pytest.raises(FileNotFoundError):
        load_arrays(tmp_path / "c.npz")
    TABLE.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"t\.parquet.* no provenance"):
        load_table(tmp_path / "t.parquet")


@pytest.mark.parametrize("kind", ["table", "arrays"])
def test_no_flipped_bit_goes_unnoticed(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "a.file"
    if kind == "table":
        rows = pd.concat([TABLE.assign(value=rng.normal(size=3)) for _ in range(40)])
        save_table(path, rows, SETTINGS)
    else:
        save_arrays(path, {**ARRAYS, "large": rng.integers(0, 9, 1000)}, SETTINGS)

    def read() -> tuple[dict[str, np.ndarray], dict]:
        if kind == "arrays":
            return load_arrays(path)
        table, record = load_table(path)
        return {name: table[name].to_numpy() for name in table}, record

    whole, (expected, written) = path.read_bytes(), read()
    some = rng.choice(8 * len(whole), size=300, replace=False)
    # the fields of the archive's directory: method, flags, sizes, names
    start = whole.find(b"PK\1\2")
    directory = range(8 * start, 8 * start + 512)
    for bit in [*some, *(directory if kind == "arrays" else ())]:
        spoiled = bytearray(whole)
        spoiled[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(spoiled)
        try:
            again, record = read()
        except ValueError as error:
            if str(path) not in str(error):
                raise
        else:  # a bit that nothing depends on, such as the name of the program that wrote it
            assert (list(again), record) == (list(expected), written)
            for name, values in expected.items():
                np.testing.assert_array_equal(again[name], values, strict=True)


def test_arrays_are_named_by_all_of_their_contents() -> None:
    known = {"a": np.arange(6.0).reshape(2, 3), "b": np.array(["x", "yz"])}
    name, a = array_digest(known), known["a"]
    # neither how they lie in memory nor their order counts
    same = {"b": known["b"].copy(), "a": np.asfortranarray(a)}
    assert array_digest(same) == name
    other = a.copy()
    other[1, 2] = np.nextafter(other[1, 2], 9.0)
    bits = a.view(np.int64)  # the same bytes as another type
    changes = (other, bits, a.astype(np.float32), a.reshape(3, 2), a.ravel(), a[:1])
    found = {array_digest({**known, "a": change}) for change in changes}
    found |= {array_digest({"c": a, "b": known["b"]}), array_digest({"a": a})}
    found.add(array_digest({**known, "b": np.array(["x", "yy"])}))
    assert len(found - {name}) == len(changes) + 3


class Maker:
    """Makes arrays, and counts how often."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> dict[str, np.ndarray]:
        self.calls += 1
        return {**ARRAYS, "call": np.array(self.calls)}


def test_what_is_kept_is_not_made_again(tmp_path: Path) -> None:
    make, folder = Maker(), tmp_path / "new/kept"
    first, record = cached(folder, SETTINGS, make)
    again, same = cached(folder, json.loads(json.dumps(SETTINGS)), make)
    assert make.calls == 1
    assert list(again) == list(first) == [*ARRAYS, "call"]
    for name, values in first.items():
        np.testing.assert_array_equal(again[name], values, strict=True)
    assert same == record
    assert record["settings"] == SETTINGS
    # a file of its own for each key, and another directory has nothing
    other, _ = cached(folder, {**SETTINGS, "seed": 1}, make)
    assert (make.calls, int(other["call"]), len(list(folder.iterdir()))) == (2, 2, 2)
    assert int(cached(folder, SETTINGS, make)[0]["call"]) == 1
    cached(tmp_path / "elsewhere", SETTINGS, make)
    assert make.calls == 3


@pytest.mark.parametrize("name", ["kgl", "numpy", "scipy", "blas", "threads", "platform"])
def test_what_other_libraries_made_is_not_used(name: str, tmp_path: Path, monkeypatch) -> None:
    make, machine = Maker(), dict(io._machine())
    cached(tmp_path, SETTINGS, make)
    monkeypatch.setattr(io, "_machine", lambda: {**machine, name: "another"})
    found, record = cached(tmp_path, SETTINGS, make)
    assert (make.calls, int(found["call"]), record[name]) == (2, 2, "another")
    cached(tmp_path, SETTINGS, make)
    monkeypatch.setattr(io, "_machine", lambda: machine)
    assert int(cached(tmp_path, SETTINGS, make)[0]["call"]) == 1  # the first is still there
    assert make.calls == 2


def test_a_kept_file_that_cannot_be_read_is_made_again(tmp_path: Path) -> None:
    make = Maker()
    cached(tmp_path, SETTINGS, make)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for k, spoiled in enumerate((b"", b"hello", whole[: len(whole) // 2], None)):
        if spoiled is None:
            np.savez(path, sse=np.ones(2))  # of another program
        else:
            path.write_bytes(spoiled)
        found, _ = cached(tmp_path, SETTINGS, make)
        assert make.calls == int(found["call"]) == k + 2
        assert int(cached(tmp_path, SETTINGS, make)[0]["call"]) == k + 2
    assert list(tmp_path.iterdir()) == [path]


def test_what_fails_is_not_kept(tmp_path: Path) -> None:
    def broken() -> dict[str, np.ndarray]:
        raise FileNotFoundError("on purpose")

    with pytest.raises(FileNotFoundError, match="on purpose"):
        cached(tmp_path / "kept", SETTINGS, broken)
    assert not list(tmp_path.rglob("*.npz"))
    make = Maker()
    cached(tmp_path / "kept", SETTINGS, make)
    assert make.calls == 1


def test_provenance_names_settings_code_and_libraries() -> None:
    record = provenance(SETTINGS)
    head = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    assert record["commit"] == (head.stdout.strip() if head.returncode == 0 else None)
    assert record["dirty"] in (True, False, None)
    assert record["python"] == platform.python_version()
    assert record["numpy"] == np.__version__
    assert record["threads"] == os.environ["OMP_NUM_THREADS"]
    assert all(record[name] for name in ("kgl", "scipy", "blas", "platform"))
    assert record["settings"] == SETTINGS
    assert record["digest"] == digest(SETTINGS) != digest({**SETTINGS, "seed": 0})


def test_provenance_names_no_machine_no_path_and_no_time() -> None:
    text = json.dumps({k: v for k, v in provenance({}).items() if k != "commit"})
    words = set(re.findall(r"[\w.-]+", text))
    assert platform.node() not in words
    for place in (ROOT, Path.home(), Path.cwd(), Path(sys.prefix)):
        assert str(place) not in text
    assert str(datetime.now().year) not in text
    assert re.search(r"\d\d:\d\d", text) is None


LOCK = """
import sys, time
from experiments.io import only_run
only_run(sys.argv[1])
print("locked", flush=True)
time.sleep(float(sys.argv[2]))
"""


def test_a_second_run_is_refused_while_the_first_lives_and_not_after(tmp_path: Path) -> None:
    def command(seconds: int) -> list[str]:
        return [sys.executable, "-c", LOCK, str(tmp_path / "new/lock"), str(seconds)]

    with subprocess.Popen(command(60), stdout=subprocess.PIPE, text=True, cwd=ROOT) as first:
        try:
            assert first.stdout is not None
            assert first.stdout.readline() == "locked\n"
            other = subprocess.run(
                command(0), capture_output=True, text=True, cwd=ROOT, check=False
            )
            assert other.returncode == 1
            assert str(first.pid) in other.stderr
            assert "Traceback" not in other.stderr
        finally:
            first.send_signal(signal.SIGKILL)
    again = subprocess.run(command(0), capture_output=True, text=True, cwd=ROOT, check=False)
    assert again.stdout == "locked\n"


def test_a_log_can_be_followed_and_is_of_the_last_run(tmp_path: Path) -> None:
    path = tmp_path / "logs/deep/job.log"
    for word in ("old", "new"):
        with logged(path) as report:
            report(word)
            assert word in path.read_text()
    assert [line.split(" s  ")[1] for line in path.read_text().splitlines()] == ["new", "done"]
