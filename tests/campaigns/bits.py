"""Bit flips and truncation of every kind of file that the project writes and reads back.

A damaged file must be refused with a message that names it, or give what was written: never
something else. Each kind is a small file of its own, made by the functions that the workflow uses,
and read by those that it is read with.
"""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments import io
from experiments.claims.published import published_tables
from experiments.report import load
from experiments.sums import SUMS, save_sums
from kgl.datasets.catalogue import DataFile, DataSet
from kgl.datasets.verify import holds, members
from tests.campaigns.result import Tally

FAULTS = ("silently different", "raw errors")
#: Share of attempts that cut the end off instead of flipping a bit.
CUT = 0.2
#: A 1 x 1 picture; only its header and its bytes matter here.
_PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060"
    "000000050001a5f645400000000049454e44ae426082"
)


@dataclass(frozen=True)
class Kind:
    """A kind of file: how one is made in a directory, and how it is read back."""

    name: str
    make: Callable[[Path], Path]
    read: Callable[[Path], Any]


def _table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"model": ["kgl", "gl"] * 20, "replicate": range(40), "value": rng.normal(size=40)}
    )


def _arrays() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"gl/weights": rng.random((30, 10)), "kgl/n_iter": rng.integers(9, size=30)}


def _plain(value: Any) -> Any:
    """Return what compares equal where two readings are the same."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, pd.DataFrame):
        return value.dtypes.astype(str).tolist(), value.to_csv()
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return repr(value)


def _npz(folder: Path) -> Path:
    io.save_arrays(folder / "fits.npz", _arrays(), {"seed": 1})
    return folder / "fits.npz"


def _cached(folder: Path) -> Path:
    io.cached(folder, "key", _arrays)
    return next(folder.glob("*.npz"))


def _parquet(folder: Path) -> Path:
    io.save_table(folder / "table.parquet", _table(), {"seed": 1})
    return folder / "table.parquet"


def _gallery(name: str) -> Callable[[Path], Path]:
    """Return a maker of a directory of published files, one of which is damaged."""

    def make(folder: Path) -> Path:
        claims = {"claim": ["M1"] * 3, "protocol": "printed", "estimate": [0.1, 0.2, 0.3]}
        io.save_csv(folder / "claims.csv", pd.DataFrame(claims))
        io.save_csv(folder / "fig2.csv", _table())
        io.save_csv(folder / "facts.csv", pd.DataFrame({"files": ["a"], "source": "real", "n": 3}))
        io.save_json(folder / "captions.json", {"fig2": {"title": "Two", "figure": 2}})
        io.save_json(folder / "provenance.json", {"tables": {"fig2": "abc"}, "digest": "0"})
        (folder / "fig2.png").write_bytes(_PNG)
        save_sums(folder, [path.name for path in folder.iterdir()])
        return folder / name

    return make


def _published(path: Path) -> Any:
    found = load(path.parent)
    pictures = {name: picture.path.read_bytes() for name, picture in found.pictures.items()}
    return (
        found.claims, found.tables, found.captions, found.provenance, pictures,
        published_tables(path.parent),
    )  # fmt: skip


_CONTENT = "\n".join(f"{k} {k * k % 97}" for k in range(200)).encode()


def _archive() -> bytes:
    target = BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/numbers.txt", _CONTENT)
    return target.getvalue()


def _data(archive: bool) -> DataSet:
    file = DataFile("numbers.txt", hashlib.sha256(_CONTENT).hexdigest(), "https://example.org/a")
    packed = DataFile(
        "numbers.zip", hashlib.sha256(_archive()).hexdigest(), "https://example.org/b"
    )
    return DataSet("numbers", (file,), packed if archive else None)


def _data_file(folder: Path) -> Path:
    (folder / "numbers.txt").write_bytes(_CONTENT)
    return folder / "numbers.txt"


def _data_archive(folder: Path) -> Path:
    (folder / "numbers.zip").write_bytes(_archive())
    return folder / "numbers.zip"


def _read_data(path: Path) -> Any:
    if not holds(path.parent, _data(archive=False)):
        raise ValueError(f"{path.parent} has no data")
    return path.read_bytes()


def _read_archive(path: Path) -> Any:
    return members(path.read_bytes(), _data(archive=True), str(path))


KINDS = (
    Kind("fits and data (.npz)", _npz, lambda path: io.load_arrays(path)),
    Kind("one model's fits (.npz)", _npz, lambda path: io.load_fits(path)),
    Kind("kept fits (.npz), made again", _cached, lambda p: io.cached(p.parent, "key", _arrays)),
    Kind("tables (.parquet)", _parquet, io.load_table),
    Kind("published table (.csv)", _gallery("fig2.csv"), _published),
    Kind("published claims (.csv)", _gallery("claims.csv"), _published),
    Kind("published facts (.csv)", _gallery("facts.csv"), _published),
    Kind("published record (.json)", _gallery("provenance.json"), _published),
    Kind("published captions (.json)", _gallery("captions.json"), _published),
    Kind("published picture (.png)", _gallery("fig2.png"), _published),
    Kind("checksums", _gallery(SUMS), _published),
    Kind("file of a data set", _data_file, _read_data),
    Kind("archive of a data set (.zip)", _data_archive, _read_archive),
)  # fmt: skip


def damaged(content: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    """Return content with a flipped bit or without its end, and what was done."""
    if rng.random() < CUT:
        length = int(rng.integers(len(content)))
        return content[:length], f"cut after {length} of {len(content)} bytes"
    place, bit = int(rng.integers(len(content))), int(rng.integers(8))
    flipped = bytearray(content)
    flipped[place] ^= 1 << bit
    return bytes(flipped), f"bit {bit} of byte {place} of {len(content)}"


def clear(error: BaseException, path: Path) -> bool:
    """Whether an error tells which file is damaged."""
    return isinstance(error, ValueError) and (path.name in str(error) or SUMS in str(error))


def run(budget: int, seed: int) -> dict[str, Any]:
    """Damage files, all kinds in turn."""
    tally = Tally(budget, "flips and truncations", FAULTS)
    rng = np.random.default_rng([seed, 2])
    with tempfile.TemporaryDirectory(prefix="kgl-bits-") as directory:
        sound = []
        for k, kind in enumerate(KINDS):
            folder = Path(directory) / str(k)
            folder.mkdir()
            path = kind.make(folder)
            sound.append((kind, path, path.read_bytes(), _plain(kind.read(path))))
        for number in range(budget):
            kind, path, content, expected = sound[number % len(sound)]
            broken, what = damaged(content, rng)
            path.write_bytes(broken)
            try:
                found = _plain(kind.read(path))
            except Exception as error:
                if not clear(error, path):
                    reason = f"{type(error).__name__}: {str(error)[:200]}"
                    tally.fault("raw errors", kind=kind.name, what=what, error=reason)
                tally.counts["refused"] += 1
            else:
                if found != expected:
                    tally.fault("silently different", kind=kind.name, what=what)
                tally.counts["read as written"] += 1
            path.write_bytes(content)
            tally.counts[f"of: {kind.name}"] += 1
            tally.step()
    return tally.record()
