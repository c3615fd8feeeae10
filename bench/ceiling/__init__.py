"""A bare loop in Go that only posts bindings: the ceiling of every scheduler that binds pod by pod on this machine.

Only Go's standard library; built once and kept beside the control plane.
"""

import base64
import sys
from pathlib import Path

import yaml
from tools.controlplane import build

KIT = build.Kit(
    name="ceiling",
    folder="ceiling",
    home=Path(__file__).resolve().parent,
    sources=("go.mod", "main.go"),
    binaries=(build.Binary(name="ceiling", package="."),),
)


def command(kubeconfig: Path, *, in_flight: int, events: int = 0) -> list[str]:
    """The loop as the user of the kubeconfig; its authority and token are written into files beside it."""
    found = yaml.safe_load(kubeconfig.read_text())
    cluster, user = found["clusters"][0]["cluster"], found["users"][0]["user"]
    authority, token = kubeconfig.with_suffix(".ca"), kubeconfig.with_suffix(".token")
    if "certificate-authority-data" in cluster:
        authority.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    else:
        authority = Path(cluster["certificate-authority"])
    token.write_text(user["token"])
    program = build.ensure(lambda line: print(line, file=sys.stderr, flush=True), KIT) / "ceiling"
    return [
        str(program),
        *("-server", cluster["server"], "-ca", str(authority), "-token", str(token)),
        *("-in-flight", str(in_flight), "-events", str(events)),
    ]
