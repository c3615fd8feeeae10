"""Builds the image: `make image`, or python -m tools.image.build [--base NAME] [--name NAME].

Without a base it makes one of Debian's own packages (mmdebstrap, as root). Wheels are fetched here, where pip is set
up to reach a registry, and checked against the hashes of the lock; the build itself needs no network.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from fairlead import __version__
from tools.image.bill import bill
from tools.image.collect import PACKAGES
from tools.image.lock import LOCK, runtime
from tools.release.build import NotBuildableError, commit, stage

ROOT = LOCK.parent
CONTEXT = ROOT / "build" / "image"
NAME = "localhost/fairlead"
DEBIAN = "bookworm"
INCLUDED = ("python3", "ca-certificates", "libstdc++6")
"""Packages of the base; the last is what NumPy loads."""
BASE = f"localhost/fairlead-base:{DEBIAN}"
ENGINES = {
    "buildah": ["buildah", "bud", "--isolation", "chroot"],
    "podman": ["podman", "build"],
    "docker": ["docker", "build"],
}


class ImageError(Exception):
    """The image cannot be built here; the message says why and what to do."""


def engine() -> str:
    """The program that builds: the first that is there."""
    for name in ENGINES:
        if shutil.which(name):
            return name
    raise ImageError("there is no buildah, podman or docker")


def run(*words: str) -> str:
    """Run a command; its output, or an ImageError with its last lines."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join((done.stderr or done.stdout).strip().splitlines()[-8:])
        raise ImageError(f"{' '.join(words[:3])} failed:\n{last}")
    return done.stdout


def store() -> str:
    """The program that keeps images and runs them."""
    return "docker" if engine() == "docker" else "podman"


def here(name: str) -> bool:
    """Whether an image of this name is there."""
    if not shutil.which(store()):
        return False
    return subprocess.run([store(), "image", "inspect", name], capture_output=True, check=False).returncode == 0


def ensure_base(chosen: str) -> str:
    """The base to build on: the chosen one, or one made of Debian's packages, once."""
    if chosen:
        return chosen
    if here(BASE):
        return BASE
    if not shutil.which("mmdebstrap") or not shutil.which(store()) or os.geteuid() != 0:
        raise ImageError(
            "there is no base: give an image that has Python 3.11 (make image BASE=NAME), "
            "or run as root with mmdebstrap and podman"
        )
    print(f"image: making the base {BASE} of Debian's packages, once, about a minute", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        archive = str(Path(folder) / "base.tar")
        run("mmdebstrap", "--variant=essential", f"--include={','.join(INCLUDED)}", DEBIAN, archive)
        run(store(), "import", archive, BASE)
    return BASE


def prepare() -> None:
    """The context of the build: our wheel, the wheels of the lock, the list of them, the program that gathers."""
    shutil.rmtree(CONTEXT, ignore_errors=True)
    wheels = CONTEXT / "wheels"
    wheels.mkdir(parents=True)
    listed = CONTEXT / "requirements.txt"
    listed.write_text("\n".join(pin.line() for pin in runtime(LOCK.read_text())) + "\n")
    pip = [sys.executable, "-m", "pip", "--quiet"]
    run(*pip, "download", "--no-deps", "--require-hashes", "--only-binary=:all:", "-r", str(listed), "-d", str(wheels))
    run(*pip, "download", "--no-deps", f"pip=={version('pip')}", "-d", str(wheels))
    with tempfile.TemporaryDirectory() as folder:
        stage(ROOT, Path(folder))
        run(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(wheels), folder)
    shutil.copy(Path(__file__).parent / "collect.py", CONTEXT)


def build(base: str, name: str) -> str:
    """Build and name the image; its full name."""
    mark, full = commit(ROOT), f"{name}:{__version__}"
    chosen = ensure_base(base)
    prepare()
    facts = {"BASE": chosen, "VERSION": __version__, "COMMIT": mark}
    options = [word for name, value in facts.items() for word in ("--build-arg", f"{name}={value}")]
    run(*ENGINES[engine()], *options, "-f", str(ROOT / "Containerfile"), "-t", full, str(CONTEXT))
    found = json.loads(contents(full, f"/{PACKAGES}"))
    target = ROOT / "build" / f"fairlead-{__version__}.cdx.json"
    target.write_text(json.dumps(bill(__version__, mark, runtime(LOCK.read_text()), found), indent=2) + "\n")
    print(f"image: {full} on {chosen}; its bill of materials is {target.relative_to(ROOT)}", file=sys.stderr)
    return full


def contents(image: str, path: str) -> str:
    """A text file of an image."""
    made = run(store(), "create", image).strip()
    try:
        with tempfile.TemporaryDirectory() as folder:
            run(store(), "cp", f"{made}:{path}", folder)
            return (Path(folder) / Path(path).name).read_text()
    finally:
        run(store(), "rm", made)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.image.build", description="Build the image.")
    parser.add_argument("--base", default="", help="an image that has Python and its standard library")
    parser.add_argument("--name", default=NAME, help="the name of the image, without tag")
    options = parser.parse_args()
    try:
        print(build(options.base, options.name))
    except (ImageError, NotBuildableError) as error:
        print(f"image: NOT BUILT: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
