"""The plugin of kubectl as krew installs it (docs/decisions/0290): a launcher, its licence, and the manifest.

krew unpacks an archive and links one program; it resolves no Python packages. So the archive has a launcher that
runs the installed `fairlead`, and says how to install it where it is not.
"""

import hashlib
from pathlib import Path

import yaml

from tools.release import archives

ROOT = Path(__file__).resolve().parents[2]
NOWHERE = "https://releases.example.com/fairlead"
"""Stands in the manifest where no address is given; `kubectl krew install --archive` does not use it."""
PLATFORMS = ("linux", "darwin")

LAUNCHER = """\
#!/bin/sh
# kubectl fairlead: runs the installed `fairlead` under the name that kubectl knows.
if ! command -v fairlead >/dev/null 2>&1; then
  echo "kubectl fairlead: the command fairlead is not on the PATH; install it with: pipx install 'fairlead[live]'" >&2
  exit 2
fi
exec fairlead "$@"
"""

DESCRIPTION = """\
Plans a cluster from its manifests or live, explains why a workload waits and what would change it, shows the shares of
queues and namespaces, on-demand and spot replicas, and disks, and serves all of it as a page.
It only reads, unless a command says otherwise.
"""
CAVEATS = "The plugin runs the Python package: pipx install 'fairlead[live]' (Python 3.11 or newer).\n"


def write(out: Path, version: str, url: str, moment: int) -> list[Path]:
    """The archive and the manifest that names its check sum."""
    archive = out / f"kubectl-fairlead-{version}.tar.gz"
    licence = (ROOT / "LICENSE").read_bytes()
    members = {"kubectl-fairlead": (LAUNCHER.encode(), archives.PROGRAM), "LICENSE": (licence, archives.FILE)}
    archives.write_tar(archive, members, moment)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    text = yaml.safe_dump(manifest(version, f"{url.rstrip('/')}/{archive.name}", digest), sort_keys=False)
    path = out / "fairlead.yaml"
    path.write_text(text)
    return [archive, path]


def manifest(version: str, uri: str, digest: str) -> dict[str, object]:
    """The plugin in krew's words."""
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "fairlead"},
        "spec": {
            "version": f"v{version}",
            "shortDescription": "Explain where replicas go, and why a workload waits",
            "description": DESCRIPTION,
            "caveats": CAVEATS,
            "platforms": [
                {
                    "selector": {"matchLabels": {"os": system}},
                    "uri": uri,
                    "sha256": digest,
                    "bin": "kubectl-fairlead",
                }
                for system in PLATFORMS
            ],
        },
    }
