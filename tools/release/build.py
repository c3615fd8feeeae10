"""Builds a release from the files that git tracks and the built page, in a folder of its own.

Nothing that merely lies about in a checkout (an older build, an egg-info) gets in.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.release import archives, plugin

PAGE = Path("src/fairlead/web/static")
COMMIT = Path("src/fairlead/COMMIT")
"""Where an installed package finds the commit that it was built from (`fairlead version`)."""
PARTS = ("app.js", "app.css")
HOOKS = "import sys, setuptools.build_meta as hooks; out = sys.argv[1]; hooks.build_wheel(out); hooks.build_sdist(out)"


class NotBuildableError(Exception):
    """What is missing, in a sentence for people."""


def release(root: Path, out: Path, url: str) -> list[Path]:
    """Wheel, sdist, plugin and its manifest in `out`, which is emptied first; their paths in order of name."""
    moment = epoch(root)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        stage(root, Path(folder))
        _run_hooks(Path(folder), out.resolve(), moment)
    wheel, sdist = next(out.glob("*.whl")), next(out.glob("*.tar.gz"))
    archives.tidy_wheel(wheel, moment)
    archives.tidy_sdist(sdist, moment)
    made = plugin.write(out, wheel.name.split("-")[1], url, moment)
    return sorted([wheel, sdist, *made])


def epoch(root: Path) -> int:
    """The one moment of the release: SOURCE_DATE_EPOCH, else that of the commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH") or _git(root, "log", "-1", "--format=%ct")
    try:
        return int(given)
    except ValueError:
        raise NotBuildableError(f"SOURCE_DATE_EPOCH is {given!r}, expected seconds since 1970") from None


def stage(root: Path, folder: Path) -> None:
    """Copy what belongs into a release."""
    missing = [name for name in PARTS if not (root / PAGE / name).is_file()]
    if missing:
        raise NotBuildableError(
            f"{PAGE}/{missing[0]} is not there; run `make page` (it needs Node.js 20 or newer and npm)"
        )
    tracked = _git(root, "ls-files", "-z").split("\0")
    for name in [*filter(None, tracked), *(str(PAGE / part) for part in PARTS)]:
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, folder / name)
    (folder / COMMIT).write_text(f"{commit(root)}\n")


def commit(root: Path) -> str:
    """The commit of the checkout; marked where tracked files differ from it."""
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return _git(root, "rev-parse", "HEAD") + ("-changed" if changed else "")


def _run_hooks(folder: Path, out: Path, moment: int) -> None:
    """Let setuptools build both, with the moment in its environment."""
    done = subprocess.run(
        [sys.executable, "-c", HOOKS, str(out)],
        cwd=folder,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(moment)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NotBuildableError(f"setuptools could not build it:\n{done.stderr}")


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotBuildableError(f"a release is built from a checkout; git says: {done.stderr.strip()}")
    return done.stdout.strip()


def checksum(path: Path) -> str:
    """SHA-256, as krew and pip write it."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
