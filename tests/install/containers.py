"""Pods of Deployments, run from the image by podman as a kubelet would run them: user, root file system, mounts, token.

What a pod's template names is mounted, and nothing else.
"""

import base64
import http.client
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.controlplane.api import Api
from tools.controlplane.plane import ControlPlane

TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"
USER = 65532
PODMAN = ("podman", "--cgroup-manager=cgroupfs", "--runtime", "runc")


@dataclass
class Container:
    """A running pod: its name, where its health is asked, its grace period, and how long it took to be ready."""

    name: str
    port: int
    grace: int
    ready_seconds: float = 0.0

    def page(self, path: str) -> tuple[int, str]:
        """A page of its health server; status 0 while there is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""
        finally:
            connection.close()

    def stop(self) -> tuple[int, float]:
        """SIGTERM, and SIGKILL when the grace period is over: the exit code, and the seconds that it took."""
        begin = time.monotonic()
        _podman("stop", "--time", str(self.grace), self.name)
        took = time.monotonic() - begin
        return int(_podman("inspect", "--format", "{{.State.ExitCode}}", self.name)), took

    @property
    def words(self) -> str:
        """What it said."""
        done = subprocess.run([*PODMAN, "logs", self.name], capture_output=True, text=True, check=False)
        return done.stdout + done.stderr


@dataclass
class Kubelet:
    """Runs pods of Deployments that are stored at the API server."""

    plane: ControlPlane
    folder: Path
    started: list[Container] = field(default_factory=list)

    @property
    def api(self) -> Api:
        return self.plane.api

    def run(self, namespace: str, deployment: str, port: int) -> Container:
        """Start one pod of a Deployment; `port` is where it was told to serve its health."""
        pod = self.api.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/{deployment}")["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        name = f"fairlead-test-{port}-{deployment}-{len(self.started)}"
        command = ["run", "--detach", "--name", name, "--network", "host", *_restrictions(pod, container)]
        command += ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"]
        for each in container.get("env", ()):
            command += ["--env", f"{each['name']}={each['value']}"]
        for volume in pod["volumes"]:
            command += self._mount(namespace, volume, container["volumeMounts"], self.folder / name)
        if pod.get("automountServiceAccountToken", True):
            command += self._identity(namespace, pod["serviceAccountName"], self.folder / name)
        begun = time.monotonic()
        _podman(*command, container["image"], *container["args"])
        found = Container(name, port, pod["terminationGracePeriodSeconds"])
        self.started.append(found)
        self._await(found)
        found.ready_seconds = time.monotonic() - begun
        return found

    def _await(self, container: Container) -> None:
        try:
            self.api.wait(f"{container.name} is ready", lambda: container.page("/readyz")[0] == 200, seconds=90)
        except AssertionError as error:
            raise AssertionError(f"{error}; it said:\n{container.words}") from None

    def _mount(self, namespace: str, volume: dict[str, Any], mounts: list[dict[str, Any]], folder: Path) -> list[str]:
        """The options that mount one volume of the pod."""
        (mount,) = (each for each in mounts if each["name"] == volume["name"])
        if "emptyDir" in volume:
            return ["--tmpfs", f"{mount['mountPath']}:rw,mode=1777,size={volume['emptyDir']['sizeLimit'].lower()[:-1]}"]
        files = self._files(namespace, volume)
        return ["--volume", f"{_written(folder / volume['name'], files)}:{mount['mountPath']}:ro"]

    def _files(self, namespace: str, volume: dict[str, Any]) -> dict[str, bytes]:
        root = f"/api/v1/namespaces/{namespace}"
        if "configMap" in volume:
            data = self.api.get(f"{root}/configmaps/{volume['configMap']['name']}")["data"]
            return {name: text.encode() for name, text in data.items()}
        data = self.api.get(f"{root}/secrets/{volume['secret']['secretName']}")["data"]
        return {name: base64.b64decode(text) for name, text in data.items()}

    def _identity(self, namespace: str, account: str, folder: Path) -> list[str]:
        """The token of the ServiceAccount where a pod finds it, and where the API server is."""
        token = self.plane.service_account_token(namespace, account)
        files = {"token": token.encode(), "namespace": namespace.encode(), "ca.crt": self.plane.ca_file.read_bytes()}
        host, port = self.plane.server.removeprefix("https://").split(":")
        return [
            *("--volume", f"{_written(folder / 'token', files)}:{TOKEN}:ro"),
            *("--env", f"KUBERNETES_SERVICE_HOST={host}", "--env", f"KUBERNETES_SERVICE_PORT={port}"),
        ]


@contextmanager
def kubelet(plane: ControlPlane, folder: Path) -> Iterator[Kubelet]:
    """A kubelet whose containers are removed at the end."""
    found = Kubelet(plane, folder)
    try:
        yield found
    finally:
        for each in found.started:
            subprocess.run([*PODMAN, "rm", "--force", "--time", "1", each.name], capture_output=True, check=False)


def obstacle(image: str) -> str:
    """Why nothing can be run from this image here; empty where it can."""
    missing = [each for each in ("podman", "runc") if not shutil.which(each)]
    if missing:
        return f"there is no {' and no '.join(missing)}"
    found = subprocess.run(["podman", "image", "exists", image], capture_output=True, check=False)
    return f"there is no image {image}: make image" if found.returncode else ""


def details(image: str) -> dict[str, Any]:
    """What podman knows of an image."""
    found: list[dict[str, Any]] = json.loads(_podman("image", "inspect", image))
    return found[0]


def _restrictions(pod: dict[str, Any], container: dict[str, Any]) -> list[str]:
    """The security context of the pod as options; a template that asks for less is not run."""
    own, rules = pod["securityContext"], container["securityContext"]
    assert (own["runAsNonRoot"], own["runAsUser"]) == (True, USER)
    assert (rules["readOnlyRootFilesystem"], rules["allowPrivilegeEscalation"]) == (True, False)
    assert rules["capabilities"] == {"drop": ["ALL"]}
    words = ["--user", f"{USER}:{own['runAsGroup']}", "--read-only", "--read-only-tmpfs=false"]
    return [*words, "--cap-drop", "all", "--security-opt", "no-new-privileges"]


def _written(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for each in (folder, *folder.parents[:2]):
        each.chmod(0o755)
    for name, content in files.items():
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o644)
    return folder


def _podman(*words: str) -> str:
    done = subprocess.run([*PODMAN, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"podman {words[0]}: {done.stderr}"
    return done.stdout.strip()
