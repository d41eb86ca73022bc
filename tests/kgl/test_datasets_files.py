"""Finding, verifying and downloading data files; all files are made up, no network is needed."""

import os
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from data_files import described, digest, serving, sushi_files, swiss_files, write, zipped

from kgl.datasets import (
    CorruptDataError,
    DataUnavailableError,
    download,
    files,
    find,
    load_swiss,
    verify,
)

pytest.importorskip("pooch")

SWISS = swiss_files()
SUSHI = sushi_files()
ARCHIVE = zipped(SUSHI)
MAT, TABLE = SWISS
UDATA = "sushi3.udata"
ZIP = "sushi3-2016.zip"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A repository and a cache of its own for each test, no variables set, no data available."""
    for variable in ("KGL_DATA_DIR", "KGL_OFFLINE", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(files, "_checkout", lambda: tmp_path / "repo")
    monkeypatch.setattr(files, "_cache", lambda: tmp_path / "cache")
    use(monkeypatch)
    return tmp_path


def use(monkeypatch, url="http://127.0.0.1:9/"):
    """Make the made-up files the ones that are expected, to be had from this address."""
    for name, contents in (("swiss", SWISS), ("sushi", SUSHI | {ZIP: ARCHIVE})):
        monkeypatch.setitem(files.DATA_SETS, name, described(name, contents, url))


@pytest.fixture
def server(home, monkeypatch):
    with serving(SWISS | {ZIP: ARCHIVE}) as running:
        use(monkeypatch, running.url)
        yield running


def everything(folder: Path) -> dict[str, bytes]:
    """All files below a folder, hidden ones included."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if not p.is_dir()}


def explain(name):
    return files.search(name).explain()


# ------------------------------------------------------------------------------------ places


def test_search_order(home, monkeypatch):
    env, raw, cache = home / "mine", home / "repo/data/raw", home / "cache"
    monkeypatch.setenv("KGL_OFFLINE", "1")
    env.mkdir()
    assert find("swiss") is None
    write(cache / "swiss", SWISS)
    assert find("swiss") == cache / "swiss"
    write(raw / "swiss", SWISS)
    assert find("swiss") == raw / "swiss"
    write(env / "swiss", SWISS)
    assert find("swiss") == raw / "swiss"
    monkeypatch.setenv("KGL_DATA_DIR", str(env))
    assert find("swiss") == env / "swiss"


def test_a_data_dir_without_this_data_set_is_passed_over(home, monkeypatch):
    write(home / "mine/sushi", SUSHI)
    write(home / "cache/swiss", SWISS)
    monkeypatch.setenv("KGL_DATA_DIR", str(home / "mine"))
    assert find("swiss") == home / "cache/swiss"
    assert find("sushi") == home / "mine/sushi"


def test_a_data_dir_that_does_not_exist_is_an_error(home, monkeypatch):
    write(home / "cache/swiss", SWISS)
    monkeypatch.setenv("KGL_DATA_DIR", str(home / "nowhere"))
    for look in (lambda: find("swiss"), lambda: load_swiss(source="auto")):
        with pytest.raises(DataUnavailableError, match=r"KGL_DATA_DIR names .*nowhere.*unset it"):
            look()


def test_outside_of_a_repository_the_cache_is_used(server, home, monkeypatch):
    monkeypatch.setattr(files, "_checkout", lambda: None)
    assert find("swiss") == home / "cache/swiss"
    assert everything(home) == {f"cache/swiss/{name}": SWISS[name] for name in SWISS}


def test_an_installed_copy_is_no_repository(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "__file__", str(tmp_path / "kgl" / "datasets" / "files.py"))
    assert files._checkout() is None


def test_unknown_data_set():
    with pytest.raises(ValueError, match="unknown data set 'sushis'; choose one of 'swiss'"):
        find("sushis")


@pytest.mark.parametrize("repository", [True, False])
def test_without_pooch_the_search_says_so(tmp_path, monkeypatch, repository):
    monkeypatch.delenv("KGL_DATA_DIR", raising=False)
    monkeypatch.delenv("KGL_OFFLINE", raising=False)
    monkeypatch.setattr(files, "_checkout", lambda: tmp_path if repository else None)
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert find("swiss") is None
    assert "pip install 'kernel-graph-learning[data]'" in explain("swiss")


# ------------------------------------------------------------------------------------ hashes


def test_the_hashes_are_those_of_the_readme():
    text = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    written = dict(re.findall(r"^\| \[?`([\w.-]+)`.*`([0-9a-f]{64})` \|$", text, re.MULTILINE))
    known = {}
    for data in files.DATA_SETS.values():
        known |= {
            f.name: f.sha256 for f in (*data.files, *([data.archive] if data.archive else []))
        }
        for file in (*data.files, *([data.archive] if data.archive else [])):
            assert not file.url or f"]({file.url})" in text
    assert written == known


@pytest.mark.parametrize("name", [MAT, TABLE])
@pytest.mark.parametrize("place", ["mine", "repo/data/raw", "cache"])
def test_a_wrong_local_file_is_refused_and_left_alone(server, home, monkeypatch, name, place):
    """Also where the right file could be had farther on, or be downloaded."""
    if place == "mine":
        monkeypatch.setenv("KGL_DATA_DIR", str(home / "mine"))
    if place != "cache":
        write(home / "cache/swiss", SWISS)
    wrong = SWISS[name][:-1] + b"!"
    write(home / place / "swiss", SWISS | {name: wrong})
    before = everything(home)
    with pytest.raises(CorruptDataError) as caught:
        find("swiss")
    message = str(caught.value)
    for part in (str(home / place / "swiss" / name), digest(wrong), digest(SWISS[name])):
        assert part in message
    for part in (f"{len(wrong)} bytes", "delete it, or replace it from http", "data/README.md"):
        assert part in message
    assert everything(home) == before
    assert server.requests == []


def test_a_wrong_file_stops_the_loader_too(home):
    write(home / "cache/swiss", SWISS | {MAT: b""})
    for source in ("auto", "real"):
        with pytest.raises(CorruptDataError, match="0 bytes"):
            load_swiss(source=source)


def test_an_incomplete_directory_is_an_error(server, home):
    write(home / "repo/data/raw/sushi", {k: v for k, v in SUSHI.items() if k != UDATA})
    before = everything(home)
    with pytest.raises(CorruptDataError, match=r"incomplete: it lacks sushi3\.udata\. Add .*zip"):
        find("sushi")
    assert everything(home) == before


def test_the_optional_file_may_be_missing(home):
    write(home / "cache/swiss", {MAT: SWISS[MAT]})
    assert find("swiss") == home / "cache/swiss"


def test_the_optional_file_alone_is_not_the_data_set(server, home):
    write(home / "repo/data/raw/swiss", {TABLE: SWISS[TABLE]})
    assert find("swiss", download=False) is None
    assert find("swiss") == home / "repo/data/raw/swiss"
    assert server.requests == [MAT]


# ------------------------------------------------------------------------------------ archive


def test_an_archive_alone_is_unpacked_beside_itself(home):
    folder = home / "repo/data/raw/sushi"
    write(folder, {ZIP: ARCHIVE})
    assert find("sushi") == folder
    assert everything(folder) == SUSHI | {ZIP: ARCHIVE}


def test_another_release_is_accepted_only_beside_its_archive(home, monkeypatch):
    """The hash of udata in the archive is not known beforehand; that of the archive is."""
    other = SUSHI | {UDATA: sushi_files(seed=1)[UDATA]}
    archive = zipped(other)
    data = described("sushi", SUSHI | {ZIP: archive})
    monkeypatch.setitem(files.DATA_SETS, "sushi", data)
    folder = home / "cache/sushi"
    write(folder, {ZIP: archive})
    assert find("sushi") == folder
    assert find("sushi") == folder  # now that the files are there
    assert everything(folder) == other | {ZIP: archive}
    # the release whose hash is known goes as well
    write(folder, {UDATA: SUSHI[UDATA]})
    assert find("sushi") == folder
    # a third one does not
    write(folder, {UDATA: sushi_files(seed=2)[UDATA]})
    with pytest.raises(CorruptDataError, match=r"or that of its copy in a sushi3-2016\.zip"):
        find("sushi")
    # nor does the one of the archive without the archive
    write(folder, {UDATA: other[UDATA]})
    (folder / ZIP).unlink()
    with pytest.raises(CorruptDataError, match=r"sushi3\.udata is not the file"):
        find("sushi")
    # nor beside an archive that is not the right one
    write(folder, {ZIP: zipped(other, folder="elsewhere/")})
    with pytest.raises(CorruptDataError, match=r"sushi3-2016\.zip is not the file"):
        find("sushi")


def archives():
    score = "sushi3b.5000.10.score"
    yield "no zip", b"PK, but no archive", "not a zip archive"
    whole = zipped(SUSHI)
    yield "damaged", whole[:80] + bytes(40) + whole[120:], "not a zip archive that can be read"
    yield "a file is missing", zipped({UDATA: SUSHI[UDATA]}), "has no file sushi3.idata"
    yield "wrong score", zipped(SUSHI | {score: b"0\n"}), f"{score} in .* is not the file"
    yield "way up", zipped(SUSHI, folder="../"), r"outside of it"
    yield "root", zipped(SUSHI, folder="/etc/"), r"outside of it"
    yield "drive", zipped(SUSHI, folder="C:\\"), r"outside of it"
    twice = {**SUSHI, "again/sushi3.udata": b"0\n"}
    yield "two of a name", zipped(twice), "two files of the name sushi3.udata"


@pytest.mark.parametrize(
    ("archive", "message"), [pytest.param(a, m, id=name) for name, a, m in archives()]
)
def test_bad_archives_are_refused(server, home, monkeypatch, archive, message):
    """Even if their hash is right, which only a mistake of ours could bring about."""
    server.contents[ZIP] = archive
    data = described("sushi", SUSHI | {ZIP: archive}, server.url)
    monkeypatch.setitem(files.DATA_SETS, "sushi", data)
    with pytest.raises(CorruptDataError, match=message):
        find("sushi")
    assert everything(home) == {}


def test_an_archive_in_a_directory_that_cannot_be_written_to(home, monkeypatch):
    write(home / "cache/sushi", {ZIP: ARCHIVE})

    def refuse(*args):
        raise PermissionError("read-only")

    monkeypatch.setattr(verify, "place", refuse)
    with pytest.raises(DataUnavailableError, match=r"read-only\); unpack sushi3\.idata.*yourself"):
        find("sushi")


# ------------------------------------------------------------------------------------ download


def test_download_of_single_files(server, home):
    folder = home / "repo/data/raw/swiss"
    assert find("swiss") == folder
    assert everything(home) == {f"repo/data/raw/swiss/{name}": SWISS[name] for name in SWISS}
    assert sorted(server.requests) == sorted(SWISS)
    assert find("swiss") == folder
    assert len(server.requests) == 2  # nothing is downloaded twice
    assert (folder / MAT).stat().st_mode & 0o777 == 0o666 & ~umask()


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_download_of_an_archive(server, home):
    assert find("sushi") == home / "repo/data/raw/sushi"
    assert everything(home / "repo/data/raw/sushi") == SUSHI | {ZIP: ARCHIVE}
    assert server.requests == [ZIP]


def test_downloads_never_go_to_the_users_directory(server, home, monkeypatch):
    (home / "mine").mkdir()
    monkeypatch.setenv("KGL_DATA_DIR", str(home / "mine"))
    assert find("swiss") == home / "repo/data/raw/swiss"
    assert everything(home / "mine") == {}


def test_the_true_addresses():
    """Files are named by a commit, so that they cannot change."""
    for file in files.DATA_SETS["swiss"].files:
        assert re.search(r"^https://raw\.githubusercontent\.com/.+/[0-9a-f]{40}/", file.url)
        assert file.url.endswith("/" + file.name)


@pytest.mark.parametrize(("name", "file"), [("swiss", MAT), ("swiss", TABLE), ("sushi", ZIP)])
@pytest.mark.parametrize("announce", [0, None], ids=["length", "no length"])
@pytest.mark.parametrize("damage", ["altered", "truncated", "empty"])
def test_a_damaged_download_is_refused(server, home, name, file, announce, damage):
    right = server.contents[file]
    damaged = {
        "altered": right[:50] + bytes([right[50] ^ 1]) + right[51:],
        "truncated": right[: len(right) // 2],
        "empty": b"",
    }[damage]
    server.contents[file], server.announce = damaged, announce
    with pytest.raises(CorruptDataError) as caught:
        find(name)
    for part in (server.url + file, digest(damaged), digest(right), f"({len(damaged)} bytes)"):
        assert part in str(caught.value)
    assert everything(home) == {}
    assert find(name, download=False) is None
    # and once the server is well again, so is the download
    server.contents[file], server.announce = right, 0
    assert find(name) == home / "repo/data/raw" / name


@pytest.mark.parametrize(("name", "file"), [("swiss", MAT), ("sushi", ZIP)])
def test_a_download_that_breaks_off_is_refused(server, home, name, file):
    server.announce = 1000
    with pytest.raises(CorruptDataError, match=f"{file} broke off.*Nothing was kept; try again"):
        find(name)
    assert everything(home) == {}


def test_a_server_that_is_down(home, monkeypatch):
    with serving({}) as running:
        use(monkeypatch, running.url)
    assert find("swiss") is None
    assert find("sushi") is None
    assert "the download failed (ConnectionError" in explain("swiss")
    assert everything(home) == {}


def test_a_server_that_does_not_answer(home, monkeypatch):
    import socket

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        use(monkeypatch, f"http://127.0.0.1:{silent.getsockname()[1]}/")
        monkeypatch.setattr(download, "TIMEOUT", 0.2)
        assert "the download failed (ReadTimeout" in explain("swiss")
        assert "timeout=0.2" in explain("swiss")


def test_names_that_cannot_be_had_are_done_without(server, home):
    del server.contents[TABLE]
    with pytest.warns(UserWarning, match=r"could not be downloaded \(HTTPError: 404"):
        assert find("swiss") == home / "repo/data/raw/swiss"
    assert list(everything(home)) == [f"repo/data/raw/swiss/{MAT}"]


@pytest.mark.parametrize(
    ("value", "allowed"), [("1", False), ("yes", False), ("0", True), ("", True)]
)
def test_offline(server, home, monkeypatch, value, allowed):
    monkeypatch.setenv("KGL_OFFLINE", value)
    assert (find("swiss") is not None) == allowed
    assert bool(server.requests) == allowed
    if not allowed:
        assert "KGL_OFFLINE is set" in explain("swiss")


def test_no_download_if_none_is_wanted(server, home):
    assert find("swiss", download=False) is None
    assert server.requests == []


def test_jobs_that_download_at_once(server, home):
    """Each of them gets whole files, and nothing else is left."""
    together = threading.Barrier(6)

    def job(name):
        together.wait()
        return find(name)

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(job, ["sushi", "swiss"] * 3))
    assert found == [home / "repo/data/raw/sushi", home / "repo/data/raw/swiss"] * 3
    assert everything(home / "repo/data/raw/sushi") == SUSHI | {ZIP: ARCHIVE}
    assert everything(home / "repo/data/raw/swiss") == SWISS


def test_a_write_that_fails_leaves_nothing(server, home, monkeypatch):
    def full(self, content):
        with self.open("wb") as stream:
            stream.write(content[:10])
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert "No space left on device" in explain("swiss")
    assert everything(home) == {}


# ------------------------------------------------------------------------------------ messages


def test_the_explanation_names_all_that_was_tried(home, monkeypatch):
    monkeypatch.setenv("KGL_OFFLINE", "1")
    text = explain("sushi")
    for part in (
        "KGL_DATA_DIR is not set",
        str(home / "repo/data/raw/sushi"),
        str(home / "cache/sushi"),
        "KGL_OFFLINE",
        "put sushi3.idata, sushi3.udata, sushi3b.5000.10.score from http",
        "data/README.md",
    ):
        assert part in text


def test_what_a_killed_download_left_is_removed_by_a_later_one(tmp_path):
    old, young, other = ".a.mat.0f.part", ".a.mat.1f.part", ".b.mat.0f.part"
    for name in (old, young, other):
        (tmp_path / name).write_bytes(b"half")
    for name in (old, other):
        os.utime(tmp_path / name, (0, 0))
    verify.place(tmp_path, "a.mat", b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {"a.mat", young, other}
