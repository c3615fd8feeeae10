"""Webhook processes for cluster tests: started as a user would start them, behind one address like a Service."""

import asyncio
import itertools
import json
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from tools.controlplane.api import Api, ApiError
from tools.controlplane.plane import ControlPlane

DEPLOY = Path(__file__).parents[2] / "deploy" / "webhook"
NAMESPACE = "fairlead-system"
HERE = {"fairlead.test/webhook": "on"}
"""Only namespaces with this label are served, so that other tests are left alone."""

_PATHS = {
    "Namespace": "/api/v1/namespaces",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "ServiceAccount": f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts",
    "ConfigMap": f"/api/v1/namespaces/{NAMESPACE}/configmaps",
    "Service": f"/api/v1/namespaces/{NAMESPACE}/services",
    "Deployment": f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments",
    "PodDisruptionBudget": f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/roles",
    "RoleBinding": f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/rolebindings",
    "MutatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
}
CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def manifests() -> list[dict[str, Any]]:
    """Every object of the deployment files, in the order of their list."""
    files = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())["resources"]
    return [each for file in files for each in yaml.safe_load_all((DEPLOY / file).read_text()) if each]


def apply(api: Api, manifest: dict[str, Any], **query: str) -> None:
    """Server-side apply."""
    path = f"{_PATHS[manifest['kind']]}/{manifest['metadata']['name']}"
    api.patch(path, manifest, kind="apply", fieldManager="test", force="true", **query)


@dataclass
class Replica:
    """One process."""

    process: subprocess.Popen[str]
    port: int
    health: int

    def get(self, path: str) -> tuple[int, str]:
        """Status and text of a path on the health port."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.health}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def end(self, number: int = signal.SIGTERM) -> int:
        """Stop it and wait for its end."""
        self.process.send_signal(number)
        code = self.process.wait(60)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code


@dataclass
class Balancer:
    """Hands new connections to the replicas in turn, as a Service does; one that does not answer is passed over."""

    ports: list[int] = field(default_factory=list)
    port: int = 0
    turn: Iterator[int] = field(default_factory=itertools.count)

    @contextmanager
    def running(self) -> Iterator["Balancer"]:
        loop = asyncio.new_event_loop()
        server = loop.run_until_complete(asyncio.start_server(self._join, "127.0.0.1", 0, backlog=1024))
        self.port = server.sockets[0].getsockname()[1]
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            loop.call_soon_threadsafe(server.close)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(10)
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(asyncio.sleep(0.05))
            loop.close()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2 * max(len(self.ports), 1)):
            port = self.ports[next(self.turn) % len(self.ports)]
            with suppress(OSError):
                inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
                await asyncio.gather(_pipe(reader, inner_writer), _pipe(inner_reader, writer))
                return
        writer.close()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, asyncio.CancelledError):
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    with suppress(OSError, RuntimeError):
        writer.close()


@dataclass
class Webhooks:
    """The replicas with what they need in the cluster."""

    api: Api
    kubeconfig: Path
    folder: Path
    balancer: Balancer
    mode: str
    replicas: list[Replica] = field(default_factory=list)

    def start(self) -> Replica:
        """Start one more replica and wait until it is ready."""
        config = self.folder / f"{self.mode}.json"
        mode = "gated" if self.mode == "gated" else "webhook"
        sections: dict[str, Any] = {"webhook": {"mode": mode, "names": ["127.0.0.1"], "drainSeconds": 0.5}}
        if self.mode == "repair":
            sections |= {"evictions": {"allowed": True, "perMinute": 600}, "repair": {"periodSeconds": 1}}
        head = {"apiVersion": "fairlead.io/v1alpha1", "kind": "Configuration"}
        config.write_text(json.dumps(head | sections))
        arguments = ["webhook", "--kubeconfig", str(self.kubeconfig), "--config", str(config)]
        arguments += ["--listen", "127.0.0.1:0", "--health", "127.0.0.1:0"]
        log = (self.folder / f"webhook-{len(list(self.folder.iterdir()))}.log").open("w")
        process = subprocess.Popen(
            [sys.executable, "-m", "fairlead", *arguments], stdout=subprocess.PIPE, stderr=log, text=True
        )
        log.close()
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"reviews on port (\d+), health on port (\d+)", line)
        assert found, f"the webhook did not start: {line!r}; see {log.name}"
        replica = Replica(process, int(found[1]), int(found[2]))
        self.api.wait("the webhook is ready", lambda: replica.get("/readyz")[0] == 200, seconds=60)
        self.replicas.append(replica)
        self._route()
        return replica

    def kill(self, replica: Replica) -> None:
        """End one without warning."""
        replica.end(signal.SIGKILL)
        self.replicas.remove(replica)
        self._route()

    def _route(self) -> None:
        self.balancer.ports = [each.port for each in self.replicas]

    def serve(self, *, policy: str) -> None:
        """Put the configurations into force, with the address of the balancer."""
        for manifest in manifests():
            if manifest["kind"] not in CONFIGURATIONS:
                continue
            for webhook in manifest["webhooks"]:
                path = webhook["clientConfig"].pop("service")["path"]
                webhook["clientConfig"]["url"] = f"https://127.0.0.1:{self.balancer.port}{path}"
                webhook["failurePolicy"] = policy
                webhook["namespaceSelector"]["matchLabels"] = HERE
            apply(self.api, manifest)


@contextmanager
def webhooks(plane: ControlPlane, folder: Path, *, count: int, mode: str = "webhook") -> Iterator[Webhooks]:
    """Replicas that run under the ServiceAccount of the deployment files, serving labelled namespaces.

    `mode` is `webhook`, `gated`, or `repair`: webhook mode with evictions allowed.
    """
    for manifest in manifests():
        if manifest["kind"] == "Deployment":
            apply(plane.api, manifest, dryRun="All")  # its image is not here: the processes are started by hand
        elif manifest["kind"] not in CONFIGURATIONS:
            apply(plane.api, manifest)
    path = "/apis/fairlead.io/v1alpha1/tierledgers"
    plane.api.wait("the ledgers are served", lambda: plane.api.items(path) is not None)
    kubeconfig = plane.kubeconfig_for_service_account(NAMESPACE, "fairlead-webhook")
    if mode != "webhook":
        name = f"fairlead-webhook-{mode}"
        subjects = [{"kind": "ServiceAccount", "name": "fairlead-webhook", "namespace": NAMESPACE}]
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        binding = {"metadata": {"name": name}, "roleRef": role, "subjects": subjects}
        head = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding"}
        apply(plane.api, head | binding)
    with Balancer().running() as balancer:
        these = Webhooks(plane.api, kubeconfig, folder, balancer, mode)
        try:
            these.serve(policy="Fail")
            for _ in range(count):
                these.start()
            yield these
        finally:
            for kind in CONFIGURATIONS:
                with suppress(ApiError):
                    plane.api.delete(f"{_PATHS[kind]}/fairlead-webhook")
            for replica in these.replicas:
                replica.end()
