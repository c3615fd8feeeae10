"""The control plane of another version of Kubernetes than the pinned one: `make cluster KUBERNETES=v1.34.4`.

Its modules are resolved anew, from what that version of Kubernetes itself requires, in a folder of the cache; there is
no committed go.sum for it, so the sums are those of Go's checksum database.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from tools.controlplane import build

VARIABLE = "FAIRLEAD_KUBERNETES"
VERSION = re.compile(r"v1\.\d+\.\d+")
PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")


def chosen(say: build.Say) -> build.Kit:
    """What the environment asks for; the pinned control plane where it asks for nothing, or for that version."""
    version = os.environ.get(VARIABLE, "")
    if version in ("", build.pinned("k8s.io/kubernetes")):
        return build.CONTROL_PLANE
    if not VERSION.fullmatch(version):
        raise build.BuildError(f"KUBERNETES is {version!r}, expected a version such as v1.34.4")
    return kit(version, say)


def kit(version: str, say: build.Say) -> build.Kit:
    """The programs of this version, with the sources that pin them, made once."""
    home = build.cache_root() / "sources" / version
    if not (home / "go.sum").exists():
        say(f"control plane: resolving the modules of Kubernetes {version}, once")
        _resolve(home, version)
    return build.Kit(
        name=f"control plane {version}",
        folder="controlplane",
        home=home,
        sources=build.SOURCES,
        binaries=build.BINARIES,
        kubernetes=version,
    )


def _resolve(home: Path, version: str) -> None:
    """Write the modules of this version and let Go settle them; the folder appears when all is settled."""
    aside = home.with_name(f".{home.name}-{os.getpid()}")
    shutil.rmtree(aside, ignore_errors=True)
    for name in ("etcd/main.go", "kwok/go.mod", "kwok/go.sum"):
        (aside / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(build.HERE / name, aside / name)
    found = json.loads(_go(aside, "mod", "download", "-json", f"k8s.io/kubernetes@{version}"))
    (aside / "go.mod").write_text(module(version, Path(found["GoMod"]).read_text()))
    _go(aside, "mod", "tidy")
    aside.rename(home)


def module(version: str, theirs: str) -> str:
    """The text of our go.mod for a version of Kubernetes, given its own."""
    etcd = re.search(r"go\.etcd\.io/etcd/client/v3 (v\S+)", theirs)
    go = re.search(r"^go (\S+)", theirs, re.MULTILINE)
    staging = re.findall(r"^\s*(k8s\.io/\S+) => \./staging", theirs, re.MULTILINE)
    if etcd is None or go is None or not staging:
        raise build.BuildError(f"the go.mod of Kubernetes {version} is not as expected")
    lines = ["module fairlead/tools/controlplane", f"go {go[1]}"]
    lines += [f"tool k8s.io/kubernetes/cmd/{name}" for name in PROGRAMS]
    lines += [f"require k8s.io/kubernetes {version}", f"require go.etcd.io/etcd/server/v3 {etcd[1]}"]
    lines += [f"replace {name} => {name} v0.{version.removeprefix('v1.')}" for name in staging]
    return "\n".join(lines) + "\n"


def _go(folder: Path, *words: str) -> str:
    environment = {**os.environ, "GOFLAGS": "-mod=mod", "GOWORK": "off"}
    try:
        done = subprocess.run(["go", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise build.BuildError("no Go to resolve the modules with") from None
    if done.returncode:
        raise build.BuildError(f"go {' '.join(words[:2])} failed:\n{done.stderr.strip()[-800:]}")
    return done.stdout
