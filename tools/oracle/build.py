"""Builds the oracle once per version, beside the control plane and with its versions.

python -m tools.oracle.build            build if needed, print the program
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.controlplane import build

HERE = Path(__file__).resolve().parent
VERSIONS = "../controlplane/go.mod"
KIT = build.Kit(
    name="oracle",
    folder="oracle",
    home=HERE,
    sources=("go.mod", "main.go", "admit.go", "filters.go", VERSIONS, "../controlplane/go.sum"),
    binaries=(build.Binary(name="oracle", package="."),),
    flags=f"{build.GO_FLAGS} -modfile={VERSIONS}",
)


def obstacle() -> str | None:
    """Why the oracle cannot be had on this machine, or None."""
    return build.obstacle(KIT)


def program(say: build.Say = lambda line: print(line, file=sys.stderr, flush=True)) -> Path:
    """The oracle, built if this version never was."""
    return build.ensure(say, KIT) / "oracle"


if __name__ == "__main__":
    print(program())
