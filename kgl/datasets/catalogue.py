"""The files of the real data sets: names, hashes, addresses, and what can be wrong with them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "DATA_SETS",
    "CorruptDataError",
    "CorruptDownloadError",
    "DataFile",
    "DataSet",
    "DataUnavailableError",
]


class CorruptDataError(ValueError):
    """A data file is there, or was downloaded, but is not what it should be."""


class CorruptDownloadError(CorruptDataError):
    """What a download brought is not what it should be; nothing of it was kept."""


class DataUnavailableError(FileNotFoundError):
    """The files of a data set are unavailable."""


@dataclass(frozen=True)
class DataFile:
    """A file known by its hash.

    Attributes
    ----------
    name, sha256 : str
        Name without directory, and hash of the contents.
    url : str
        Where it is downloaded from; empty for a file that comes in an archive.
    required : bool
        Whether the data set is of no use without it.
    releases : bool
        Whether the archive may hold another release than the one of this hash.
    """

    name: str
    sha256: str
    url: str = ""
    required: bool = True
    releases: bool = False


@dataclass(frozen=True)
class DataSet:
    """The files of a data set, and the archive they come in, if they do."""

    title: str
    files: tuple[DataFile, ...]
    archive: DataFile | None = None

    def source(self, file: DataFile) -> str:
        """Return where a file comes from."""
        if file.url or self.archive is None:
            return file.url
        return f"{self.archive.name}, {self.archive.url}"


#: The data sets by name; tests put others in their place.
DATA_SETS = {
    "swiss": DataSet(
        title="Swiss temperatures",
        files=(
            DataFile(
                "temperature.mat",
                "2c95748181c8d31f2386bbd330866e31969eda15845173be1d82d001d4124978",
                "https://raw.githubusercontent.com/xwangcu/mugl/"
                "245986c51bf3f325234f0219800361c8b23eaf5e/data/temperature.mat",
            ),
            DataFile(
                "nvrep_np8110_tre200m0_e.txt",
                "96966059aa4025f052a4e0184b74d9f9b5968cbbdbb94d485c81ba9f9615e64a",
                "https://raw.githubusercontent.com/Jianfeng-Huang-at-github/GFT/"
                "2875b4971eab7e932daf5a4ef177163e6316b4be/nvrep_np8110_tre200m0_e.txt",
                required=False,
            ),
        ),
    ),
    "sushi": DataSet(
        title="SUSHI preferences",
        files=(
            DataFile(
                "sushi3.idata",
                "568d73580f82a9ffba7ee1a3750506a0517c9ce904eec41559fe4ab573911fde",
            ),
            DataFile(
                "sushi3.udata",
                "592d345613b6fbc1d7d126775eb5fb5628619e855c292166250f09651716eca2",
                releases=True,
            ),
            DataFile(
                "sushi3b.5000.10.score",
                "4a600bbbdea7f75dc218e14776fa41228f9bd553842997ffe79c1227f3ec119d",
            ),
        ),
        archive=DataFile(
            "sushi3-2016.zip",
            "4f8bbf3acd6f796cb3d0add6c73c394664982c57d3b48e75e92014e5278558a8",
            "https://www.kamishima.net/asset/sushi3-2016.zip",
        ),
    ),
}
