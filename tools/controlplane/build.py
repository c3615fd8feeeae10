"""Builds the control plane's binaries once per version and keeps them outside the repository.

    python -m tools.controlplane.build            build if needed, print the folder with the binaries
    python -m tools.controlplane.build --where    print that folder, build nothing

The folder is `$XDG_CACHE_HOME/fairlead/controlplane/<key>/bin`; the key is a hash of everything that decides
what the binaries contain, so a changed version is another folder and an unchanged one costs nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.controlplane.processes import Guard

HERE = Path(__file__).resolve().parent
SOURCES = ("go.mod", "go.sum", "etcd/main.go", "kwok/go.mod", "kwok/go.sum")
GO_FLAGS = "-mod=readonly -trimpath -buildvcs=false"
VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")

Say = Callable[[str], None]


class BuildError(Exception):
    """The binaries are not there and cannot be made; the message says why, in one or a few lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    """One program: its file name, the package it is built from, and the module folder that pins it."""

    name: str
    package: str
    module: str = "."


BINARIES = (
    Binary(name="etcd", package="./etcd"),
    Binary(name="kube-apiserver", package="k8s.io/kubernetes/cmd/kube-apiserver"),
    Binary(name="kube-controller-manager", package="k8s.io/kubernetes/cmd/kube-controller-manager"),
    Binary(name="kube-scheduler", package="k8s.io/kubernetes/cmd/kube-scheduler"),
    Binary(name="kwok", package="sigs.k8s.io/kwok/cmd/kwok", module="kwok"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """Programs that are built and cached together.

    `sources` are the files under `home` that decide what is built; `folder` is the kit's place in the cache.
    `kubernetes` is the version that the servers report about themselves; empty: the pinned one.
    """

    name: str
    folder: str
    home: Path
    sources: tuple[str, ...]
    binaries: tuple[Binary, ...]
    flags: str = GO_FLAGS
    kubernetes: str = ""


CONTROL_PLANE = Kit(name="control plane", folder="controlplane", home=HERE, sources=SOURCES, binaries=BINARIES)


def pinned(module: str) -> str:
    """The version at which the go.mod files here require `module`."""
    for name in ("go.mod", "kwok/go.mod"):
        found = re.search(rf"^\s*(?:require )?{re.escape(module)} (v\S+)", (HERE / name).read_text(), re.MULTILINE)
        if found:
            return found[1]
    raise BuildError(f"tools/controlplane pins no {module}")


def versions() -> dict[str, str]:
    """What is built, by name: kubernetes, etcd, kwok."""
    return {
        "kubernetes": pinned("k8s.io/kubernetes"),
        "etcd": pinned("go.etcd.io/etcd/server/v3"),
        "kwok": pinned("sigs.k8s.io/kwok"),
    }


def link_flags(kit: Kit = CONTROL_PLANE) -> str:
    """Linker flags: no symbol tables, and the version that the servers report about themselves."""
    version = kit.kubernetes or pinned("k8s.io/kubernetes")
    major, minor = version.removeprefix("v").split(".")[:2]
    facts = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    marks = [f"-X {package}.{name}={value}" for package in VERSION_PACKAGES for name, value in facts.items()]
    return " ".join(["-s", "-w", *marks])


def cache_key(kit: Kit = CONTROL_PLANE) -> str:
    """Sixteen hex digits that change whenever the binaries would."""
    digest = hashlib.sha256()
    for source in kit.sources:
        digest.update(f"{source}\0".encode() + (kit.home / source).read_bytes() + b"\0")
    digest.update(f"{kit.binaries}{kit.flags}{link_flags(kit)}{sys.platform}{platform.machine()}".encode())
    return digest.hexdigest()[:16]


def cache_root(kit: Kit = CONTROL_PLANE) -> Path:
    """The folder that holds every built version of a kit."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairlead" / kit.folder


def cached(kit: Kit = CONTROL_PLANE) -> Path | None:
    """The folder with the binaries of this version if they are built. Complete by construction: see `build`."""
    folder = cache_root(kit) / cache_key(kit) / "bin"
    return folder if folder.is_dir() else None


def obstacle(kit: Kit = CONTROL_PLANE) -> str | None:
    """Why the binaries cannot be had on this machine, or None when they are there or can be built."""
    if cached(kit) or shutil.which("go"):
        return None
    return f"no Go to build the {kit.name} with, and no binaries in {cache_root(kit) / cache_key(kit)}"


def ensure(say: Say, kit: Kit = CONTROL_PLANE) -> Path:
    """The folder with the binaries, building them if this version was never built. Silent when it was.

    Two callers at once: one builds, the other waits. An interrupted build leaves no folder that looks finished.
    """
    found = cached(kit)
    if found:
        return found
    reason = obstacle(kit)
    if reason:
        raise BuildError(reason)
    cache_root(kit).mkdir(parents=True, exist_ok=True)
    with _only_one(kit, say) as lock:
        return cached(kit) or _build(kit, say, lock)


@contextlib.contextmanager
def _only_one(kit: Kit, say: Say) -> Iterator[int]:
    """Hold this version's lock; the system lets go of it once the holder and its guard have ended."""
    with (cache_root(kit) / f"{cache_key(kit)}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{kit.name}: another build is under way, waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def _build(kit: Kit, say: Say, lock: int) -> Path:
    """Build every binary in a folder aside, then give that folder its name in one step.

    If this program is killed, a guard ends the compiler, which would go on to fill the folder. It has the lock until
    then, so that the next build does not start beside it.
    """
    root, key = cache_root(kit), cache_key(kit)
    for stale in root.glob(f".{key}-*"):
        shutil.rmtree(stale, ignore_errors=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=root))
    say(f"{kit.name}: building {', '.join(each.name for each in kit.binaries)}; once per version, it takes minutes")
    begin, guard = time.monotonic(), Guard(aside, keep=(lock,))
    try:
        for number, binary in enumerate(kit.binaries, start=1):
            _compile(kit, binary, aside / "bin", f"{number}/{len(kit.binaries)} {binary.name}", say, guard)
        aside.chmod(0o755)
        aside.rename(root / key)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    finally:
        guard.dismiss()
    say(f"{kit.name}: built in {time.monotonic() - begin:.0f} s, kept in {root / key}")
    return root / key / "bin"


def _compile(kit: Kit, binary: Binary, folder: Path, label: str, say: Say, guard: Guard) -> None:
    """Run `go build` for one binary, telling every ten seconds how far it is."""
    target = str(folder / binary.name)
    command = ["nice", "go", "build", "-v", f"-ldflags={link_flags(kit)}", "-o", target, binary.package]
    begin = said = time.monotonic()
    packages, tail = 0, [""] * 20
    say(f"{kit.name}: {label}")
    # A group of its own: an interrupt must reach the compilers too, and only through us.
    with subprocess.Popen(
        command,
        cwd=kit.home / binary.module,
        env=_environment(os.environ, kit.flags),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        guard.watch(process.pid)
        try:
            assert process.stderr is not None
            for line in process.stderr:
                packages, tail = packages + 1, [*tail[1:], line.rstrip()]
                if time.monotonic() - said >= 10:
                    said = time.monotonic()
                    say(f"{kit.name}: {label}, {packages} packages, {said - begin:.0f} s")
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    guard.forget(process.pid)
    if process.returncode:
        raise BuildError(f"go build {binary.package} failed:\n" + "\n".join(filter(None, tail)))
    say(f"{kit.name}: {label} done, {time.monotonic() - begin:.0f} s")


def _environment(outer: Mapping[str, str], flags: str) -> dict[str, str]:
    """The environment of the compiler: ours, and no flags or workspace of the caller's.

    With `-mod=readonly` and a complete go.sum, nothing is fetched that the module cache has.
    """
    return {**outer, "GOFLAGS": flags, "GOWORK": "off", "CGO_ENABLED": "0"}


def main() -> int:
    """The command line; 0 built or cached, 1 failed, 130 interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.controlplane.build", description="Build the control plane for tests, once per version."
    )
    parser.add_argument("--where", action="store_true", help="print the folder of this version and build nothing")
    parser.add_argument(
        "--if-possible", action="store_true", help="exit 0 in silence where there is no Go and nothing built"
    )
    options = parser.parse_args()
    if options.where:
        print(cache_root() / cache_key() / "bin")
        return 0
    if options.if_possible and obstacle():
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        folder = ensure(lambda line: print(line, file=sys.stderr, flush=True))
    except BuildError as error:
        print(f"control plane: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("control plane: build interrupted, nothing kept", file=sys.stderr)
        return 130
    if not options.if_possible:
        print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
