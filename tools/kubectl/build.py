"""kubectl: that of this machine, or of the pinned Kubernetes, built once.

python -m tools.kubectl.build        build if needed, print the program
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tools.controlplane import build

KIT = build.Kit(
    name="kubectl",
    folder="kubectl",
    home=Path(__file__).resolve().parent,
    sources=("go.mod", "go.sum", "main.go"),
    binaries=(build.Binary(name="kubectl", package="."),),
)


def obstacle() -> str | None:
    """Why kubectl cannot be had on this machine, or None."""
    return None if shutil.which("kubectl") else build.obstacle(KIT)


def program(say: build.Say = lambda line: print(line, file=sys.stderr, flush=True)) -> Path:
    """The one that is installed; where there is none, it is built if this version never was."""
    found = shutil.which("kubectl")
    return Path(found) if found else build.ensure(say, KIT) / "kubectl"


if __name__ == "__main__":
    print(program())
