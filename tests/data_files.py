"""Made-up files in the formats of the real data sets, and a web server on this machine."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import scipy.io

from kgl.datasets import catalogue
from kgl.datasets.swiss import to_wgs84

#: What the real groups are, by code; an item of a made-up file gets its group from here.
SIZES = {1: 7, 4: 6, 0: 8, 11: 6, 7: 5}


def swiss_files(stations: int = 89) -> dict[str, bytes]:
    """Contents of the two Swiss files: made-up stations on a grid, in the table shuffled."""
    rng = np.random.default_rng(0)
    east = 500000.0 + 20000.0 * (np.arange(stations) % 12)
    north = 90000.0 + 15000.0 * (np.arange(stations) // 12)  # some with five digits
    names = [f"Ort {k} / Täl" for k in range(stations)]
    stream = io.BytesIO()
    scipy.io.savemat(
        stream,
        {
            "temp_records": rng.normal(8.0, 6.0, (stations, 12)).round(1),
            "altitude": rng.integers(200, 3000, (stations, 1)).astype(np.uint16),
            # each some hundred metres from where the table has it
            "coordinates": to_wgs84(east, north) + rng.uniform(-2e-3, 2e-3, (stations, 2)),
        },
    )
    header = ["Station", "Altitude [m asl]", "CH coordinates", "Reference period", "Jan", "Year"]
    lines = ["An office", "", "\t".join(header)]
    lines += [
        f"{names[k]}\t500\t{east[k]:.0f} / {north[k]:.0f}\t01.1981-12.2010\t1.0\t2.0"
        for k in rng.permutation(stations)
    ]
    lines.append("Far away\t500\t830000 / 280000\t01.1981-12.2010\t1.0\t2.0")
    table = "\r\n".join([*lines, ""]).encode()
    return {"temperature.mat": stream.getvalue(), "nvrep_np8110_tre200m0_e.txt": table}


def sushi_files(seed: int = 0) -> dict[str, bytes]:
    """Contents of the three SUSHI files: 100 made-up items, 5000 made-up people."""
    rng = np.random.default_rng(seed)
    first = np.concatenate([np.repeat(list(SIZES), list(SIZES.values())), np.full(18, 2)])
    minor = np.concatenate([rng.permutation(first), [1], rng.integers(0, 12, 49)])
    items = [
        f"{k}\titem_{k}\t{k % 2}\t{int(code > 8)}\t{code}"
        f"\t{k / 25}\t{k / 40}\t{1 + k / 30}\t0.{k:02d}"
        for k, code in enumerate(minor)
    ]
    young, now = rng.integers(0, 47, 5000), rng.integers(0, 47, 5000)
    people = np.column_stack(
        [
            rng.permutation(5000),
            rng.integers(0, 2, 5000),
            rng.integers(0, 6, 5000),
            rng.integers(165, 878, 5000),
            young,
            young // 4,
            young // 25,
            now,
            now // 4,
            now // 25,
            young != now,
        ]
    )
    scores = np.full((5000, 100), -1)
    rated = rng.random((5000, 100)).argsort(axis=1)[:, :10]
    np.put_along_axis(scores, rated, rng.integers(0, 5, (5000, 10)), axis=1)
    tables = {
        "sushi3.idata": items,
        "sushi3.udata": ["\t".join(map(str, row)) for row in people],
        "sushi3b.5000.10.score": [" ".join(map(str, row)) for row in scores],
    }
    return {name: ("\n".join(lines) + "\n").encode() for name, lines in tables.items()}


def zipped(contents: dict[str, bytes], folder: str = "sushi3-2016/") -> bytes:
    """A zip archive of the files in a folder, among others."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("sushi3-2016/README-en.txt", "about")
        for name, content in contents.items():
            archive.writestr(folder + name, content)
    return stream.getvalue()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def described(
    name: str, contents: dict[str, bytes], url: str = "http://127.0.0.1:9/"
) -> catalogue.DataSet:
    """The description of a data set, with the hashes of other contents and another address."""
    data = catalogue.DATA_SETS[name]

    def point(file: catalogue.DataFile) -> catalogue.DataFile:
        known = digest(contents[file.name]) if file.name in contents else file.sha256
        return replace(file, sha256=known, url=url + file.name if file.url else "")

    archive = None if data.archive is None else point(data.archive)
    return replace(data, files=tuple(map(point, data.files)), archive=archive)


def write(folder: Path, contents: dict[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)


class Server(ThreadingHTTPServer):
    """Serves `contents`; `announce` says how many bytes more than there are it promises."""

    daemon_threads = True
    contents: dict[str, bytes]
    announce: int | None = 0
    requests: list[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        name = self.path.lstrip("/")
        self.server.requests.append(name)
        if name not in self.server.contents:
            self.send_error(404)
            return
        content = self.server.contents[name]
        self.send_response(200)
        if self.server.announce is not None:
            self.send_header("Content-Length", str(len(content) + self.server.announce))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def serving(contents: dict[str, bytes]) -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), _Handler)
    server.contents, server.requests = dict(contents), []
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
