"""Archives whose bytes depend on what is in them and on one moment, not on who packs them, where and when.

Members in order of name, one time, one owner, two modes, and a compression that writes no time of its own.
"""

import gzip
import io
import tarfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

EARLIEST = 315_532_800
"""1980-01-01: zip knows no earlier moment."""
FILE, PROGRAM = 0o644, 0o755


def tidy_wheel(path: Path, moment: int) -> None:
    """Write a wheel anew in the one form; its contents stay, so its RECORD still holds."""
    with zipfile.ZipFile(path) as wheel:
        members = {name: wheel.read(name) for name in wheel.namelist() if not name.endswith("/")}
    stamp = time.gmtime(max(moment, EARLIEST))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name in sorted(members, key=_record_last):
            entry = zipfile.ZipInfo(name, stamp)
            entry.external_attr = (0o100000 | FILE) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, members[name])


def _record_last(name: str) -> tuple[bool, str]:
    """The packaging rules ask for the metadata at the end of a wheel."""
    return ".dist-info/" in name, name


def tidy_sdist(path: Path, moment: int) -> None:
    """Write a source archive anew in the one form."""
    with tarfile.open(path) as archive:
        members = {entry.name: _content(archive, entry) for entry in archive.getmembers() if entry.isfile()}
    write_tar(path, members, moment)


def _content(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> tuple[bytes, int]:
    found = archive.extractfile(entry)
    assert found is not None  # only plain files are asked for
    return found.read(), PROGRAM if entry.mode & 0o100 else FILE


def write_tar(path: Path, members: Mapping[str, tuple[bytes, int]], moment: int) -> None:
    """A gzipped tar of the members, each given as its bytes and mode."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(members):
            content, mode = members[name]
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), mode, moment
            archive.addfile(entry, io.BytesIO(content))
    # The name of the file and the moment of packing would be in the header of gzip.
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=moment) as packed:
        packed.write(plain.getvalue())
