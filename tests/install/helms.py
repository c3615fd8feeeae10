"""Helm as people call it, against the control plane of the tests."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.manifests.folders import CHART

NAMESPACE = "fairlead-system"


class HelmError(Exception):
    """Helm refused; the message is what it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Helm:
    """One version of Helm, with the kubeconfig of an administrator."""

    program: Path
    kubeconfig: Path
    home: Path

    def run(self, *words: str, values: Mapping[str, Any] | None = None) -> str:
        """A command in the namespace of the release; `values` are put in as a file."""
        command = [str(self.program), *words, "--namespace", NAMESPACE, "--kubeconfig", str(self.kubeconfig)]
        given = [] if values is None else ["--values", "-"]
        places = {name: str(self.home) for name in ("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "HOME")}
        done = subprocess.run(
            [*command, *given],
            input=None if values is None else json.dumps(values),
            stdin=subprocess.DEVNULL if values is None else None,
            env={"PATH": "/usr/bin:/bin", **places},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise HelmError(done.stderr.strip())
        return done.stdout

    def install(self, values: Mapping[str, Any], *options: str) -> str:
        """Install, or change what is installed, with these values and the defaults for all else."""
        command = ("upgrade", "--install", "fairlead", str(CHART), "--create-namespace", "--reset-values")
        return self.run(*command, *options, values=values)

    def uninstall(self) -> str:
        """Remove the release, and wait until its objects are gone."""
        return self.run("uninstall", "fairlead", "--wait", "--ignore-not-found")

    def manifest(self) -> str:
        """What is installed, as rendered."""
        return self.run("get", "manifest", "fairlead")
