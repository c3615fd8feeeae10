"""Copies of the tree: tests run there, and the checkout is never edited."""

import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

from tools.mutants.changes import Change


def files(root: Path) -> list[str]:
    """Every file that git knows or would take, deleted ones aside."""
    asked = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(asked, cwd=root, check=True, capture_output=True, text=True).stdout
    return sorted(name for name in set(listed.split("\0")) if name and (root / name).is_file())


def copy(root: Path, to: Path) -> Path:
    """The same files elsewhere."""
    for name in files(root):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, to / name)
    return to


def digest(root: Path, names: list[str]) -> str:
    """A fingerprint of these files and their contents."""
    seen = sha256()
    for name in names:
        seen.update(f"{name}\0{sha256((root / name).read_bytes()).hexdigest()}\0".encode())
    return seen.hexdigest()


class Mutated:
    """A module of a copy, changed while the context lasts; gives the source as it was."""

    def __init__(self, tree: Path, change: Change) -> None:
        self._file = tree / change.path
        self._change = change
        self._source = self._file.read_bytes()

    def __enter__(self) -> bytes:
        self._write(self._change.apply(self._source))
        return self._source

    def __exit__(self, *_: object) -> None:
        self._write(self._source)

    def _write(self, source: bytes) -> None:
        """Compiled files go by size and whole seconds, so an old one would hide a change of equal size."""
        self._file.write_bytes(source)
        for compiled in self._file.parent.glob(f"__pycache__/{self._file.stem}.*.pyc"):
            compiled.unlink()
