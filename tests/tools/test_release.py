"""A release: archives of one form, the plugin's manifest, and what is said where it cannot be built."""

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
from tools.release import archives, build, plugin

MOMENT = 1_700_000_000


def wheel(path: Path, names: list[str], when: tuple[int, int, int, int, int, int], mode: int) -> Path:
    """A wheel as some other machine packed it."""
    with zipfile.ZipFile(path, "w") as packed:
        for name in names:
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = mode << 16
            packed.writestr(entry, f"text of {name}")
    return path


def test_wheels_of_equal_content_become_equal(tmp_path: Path) -> None:
    """Order, times and modes differ before; afterwards no byte does, and the metadata is last."""
    names = ["f/b.py", "f/a.py", "f-1.dist-info/RECORD"]
    one = wheel(tmp_path / "1.whl", names, (2001, 1, 1, 0, 0, 0), 0o100600)
    two = wheel(tmp_path / "2.whl", names[::-1], (2020, 1, 1, 0, 0, 0), 0o100755)
    for path in (one, two):
        archives.tidy_wheel(path, MOMENT)
    assert one.read_bytes() == two.read_bytes()
    with zipfile.ZipFile(one) as packed:
        assert packed.namelist() == ["f/a.py", "f/b.py", "f-1.dist-info/RECORD"]
        assert packed.read("f/a.py") == b"text of f/a.py"
        assert packed.infolist()[0].date_time == (2023, 11, 14, 22, 13, 20)


def test_a_moment_before_zip_began_is_its_beginning(tmp_path: Path) -> None:
    """SOURCE_DATE_EPOCH=0 is common; zip knows nothing before 1980."""
    path = wheel(tmp_path / "1.whl", ["a"], (2001, 1, 1, 0, 0, 0), 0o100644)
    archives.tidy_wheel(path, 0)
    with zipfile.ZipFile(path) as packed:
        assert packed.infolist()[0].date_time == (1980, 1, 1, 0, 0, 0)


def test_source_archives_of_equal_content_become_equal(tmp_path: Path) -> None:
    """Owners, times and folders differ before; a program stays a program."""
    made = []
    for number in (1, 2):
        path = tmp_path / f"{number}.tar.gz"
        with tarfile.open(path, "w:gz") as packed:
            for name, mode in (("p/run", 0o740 + number), ("p/a", 0o640 + number)):
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode, entry.mtime, entry.uid, entry.uname = 2, mode, number, number, f"user{number}"
                packed.addfile(entry, io.BytesIO(b"hi"))
        archives.tidy_sdist(path, MOMENT)
        made.append(path.read_bytes())
    assert made[0] == made[1]
    with tarfile.open(fileobj=io.BytesIO(made[0])) as packed:
        assert [(each.name, each.mode, each.mtime, each.uid) for each in packed.getmembers()] == [
            ("p/a", 0o644, MOMENT, 0),
            ("p/run", 0o755, MOMENT, 0),
        ]


def test_manifest_names_the_archive_and_its_sum(tmp_path: Path) -> None:
    """One entry for each system, and the address that was given."""
    archive, manifest = plugin.write(tmp_path, "1.2.3", "https://example.org/get/", MOMENT)
    text = manifest.read_text()
    assert "version: v1.2.3" in text
    assert text.count("uri: https://example.org/get/kubectl-fairlead-1.2.3.tar.gz") == len(plugin.PLATFORMS)
    assert text.count(build.checksum(archive)) == len(plugin.PLATFORMS)


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the page, without git, and with a moment that is none."""
    with pytest.raises(build.NotBuildableError, match="run `make page`"):
        build.stage(tmp_path, tmp_path / "stage")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(build.NotBuildableError, match="'yesterday', expected seconds since 1970"):
        build.epoch(tmp_path)
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    monkeypatch.setitem(os.environ, "GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(build.NotBuildableError, match="built from a checkout"):
        build.epoch(tmp_path)
