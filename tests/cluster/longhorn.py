"""Longhorn's objects on a real API server: definitions, a cluster in a namespace, the component as a process."""

import http.client
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import yaml
from tools.controlplane.api import Api, ApiError

from fairlead.kube.codec.longhorn import StorageManifests, storage
from fairlead.kube.objects.longhorn import LonghornNode, LonghornReplica, LonghornSetting, LonghornVolume
from tests import deploys
from tests.cluster.karmada import define
from tests.cluster.pages import free_port
from tests.live.longhorn_objects import Object, counted, place

ROOT = "/apis/longhorn.io/v1beta2"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
REPO = Path(__file__).parents[2]
REAL = REPO.parent / "shared" / "crds" / "longhorn.io.yaml"
"""Longhorn's own definitions, where they lie beside the checkout."""
KINDS = {"Node": "nodes", "Volume": "volumes", "Replica": "replicas", "Setting": "settings"}


def install(api: Api, file: str = "longhorn.yaml") -> None:
    """Install the definitions and wait until they are served."""
    define(api, file)


def uninstall(api: Api) -> None:
    """Remove the definitions with everything that is there of them, and wait until they are gone."""
    for plural in KINDS.values():
        with suppress(ApiError):
            api.delete(f"{DEFINITIONS}/{plural}.longhorn.io")

    def gone() -> bool:
        there = {each["metadata"]["name"] for each in api.items(DEFINITIONS)}
        return not there & {f"{plural}.longhorn.io" for plural in KINDS.values()}

    api.wait("the definitions are gone", gone, seconds=180)


class Longhorn:
    """The objects of one namespace, and the part of Longhorn that counts replicas on disks."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace

    def path(self, plural: str, name: str = "") -> str:
        return f"{ROOT}/namespaces/{self.namespace}/{plural}" + (f"/{name}" if name else "")

    def create(self, *objects: Object, workers: int = 8) -> None:
        """Objects with their status, which the server takes only by itself."""
        here = [{**each, "metadata": {**each["metadata"], "namespace": self.namespace}} for each in objects]
        for kind, plural in KINDS.items():
            own = [each for each in here if each["kind"] == kind]
            if own:
                self.api.create_many(self.path(plural), own, workers=workers)
            for each in own:
                if "status" in each:
                    self.status(each)

    def status(self, found: Object) -> None:
        name = found["metadata"]["name"]
        self.api.patch(f"{self.path(KINDS[found['kind']], name)}/status", {"status": found["status"]})

    def all(self, plural: str) -> list[Object]:
        return self.api.items(self.path(plural))

    def places(self) -> dict[str, str]:
        """`node/disk` of every Replica."""
        return {each["metadata"]["name"]: place(each) for each in self.all("replicas")}

    def settled(self, *, seconds: float = 180) -> dict[str, str]:
        """Wait until no Replica waits."""
        self.api.wait("every Replica has a disk", lambda: all(self.places().values()), seconds=seconds)
        return self.places()

    def count(self) -> None:
        """Every disk counts the Replicas that name it."""
        replicas = self.all("replicas")
        for node in self.all("nodes"):
            self.status({**counted(node, replicas), "kind": "Node"})

    def versions(self) -> dict[str, str]:
        """The version of every object but Events."""
        return {
            f"{plural}/{each['metadata']['name']}": each["metadata"]["resourceVersion"]
            for plural in KINDS.values()
            for each in self.all(plural)
        }

    def events(self) -> list[Object]:
        return self.api.items(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")

    def stored(self) -> StorageManifests:
        """What the disk level is asked at this moment."""
        shapes: Mapping[str, Any] = {
            "nodes": LonghornNode,
            "volumes": LonghornVolume,
            "replicas": LonghornReplica,
            "settings": LonghornSetting,
        }
        typed = [[msgspec.convert(each, shape) for each in self.all(plural)] for plural, shape in shapes.items()]
        return storage(*typed)


class Running:
    """The component as a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, pages: int) -> None:
        self.process = process
        self.port = port
        self.pages = pages

    def page(self, path: str, port: int = 0) -> bytes:
        """A page of its health server, or of another port; ApiError while it does not answer."""
        with closing(http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=10)) as connection:
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
            except OSError as error:
                raise ApiError(503, "NotYet", str(error)) from error
            found = answer.read()
        if answer.status != 200:
            raise ApiError(answer.status, "NotYet", found.decode())
        return found

    def report(self) -> Object:
        found: Object = msgspec.json.decode(self.page("/report", self.pages))
        return found

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)


@contextmanager
def keeper(kubeconfig: Path, namespace: str, *options: str, elect: bool = False) -> Iterator[Running]:
    """`fairlead storage` on one namespace, stopped with SIGTERM."""
    port, pages = free_port(), free_port()
    command = [sys.executable, "-m", "fairlead", "storage", "--kubeconfig", str(kubeconfig)]
    command += ["--longhorn-namespace", namespace, "--health", f"127.0.0.1:{port}"]
    command += ["--pages", f"127.0.0.1:{pages}", *options]
    process = subprocess.Popen(command if elect else [*command, "--no-leader-election"])
    try:
        yield Running(process, port, pages)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def deployed(api: Api, namespace: str) -> None:
    """Apply the rights of `deploy/storage-act`, with Longhorn in this namespace."""
    text = (deploys.DEPLOY / "storage-act" / "objects.yaml").read_text().replace("longhorn-system", namespace)
    rights = [each for each in yaml.safe_load_all(text) if each["kind"] in ("ServiceAccount", "Role", "RoleBinding")]
    for each in [*deploys.deployed("common"), *rights]:
        deploys.apply(api, each)
