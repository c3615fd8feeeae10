"""Builds Helm once per version: the third major version for people today, the fourth for those after it.

python -m tools.helm.build [3|4]        build if needed, print the program
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.controlplane import build

HERE = Path(__file__).resolve().parent


def kit(major: int = 3) -> build.Kit:
    """What is built: one program from the module that the folder of this major version pins."""
    return build.Kit(
        name=f"helm {major}",
        folder=f"helm{major}",
        home=HERE / f"v{major}",
        sources=("go.mod", "go.sum"),
        binaries=(build.Binary(name="helm", package=f"helm.sh/helm/v{major}/cmd/helm"),),
    )


def obstacle(major: int = 3) -> str | None:
    """Why Helm cannot be had on this machine, or None."""
    return build.obstacle(kit(major))


def program(major: int = 3, say: build.Say = lambda line: print(line, file=sys.stderr, flush=True)) -> Path:
    """Helm, built if this version never was."""
    return build.ensure(say, kit(major)) / "helm"


if __name__ == "__main__":
    print(program(int(sys.argv[1]) if len(sys.argv) > 1 else 3))
