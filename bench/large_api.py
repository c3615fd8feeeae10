"""An API server that only plays a large cluster, in a process of its own: nodes and pods in pages, binds taken.

It costs next to nothing itself, so that what is measured is the scheduler: every page is put together from one text.
Pods look as a real server sends them, with managed fields and a status of 3 kB. All but one run on a node.
`python -m bench.large_api NODES PODS` prints its port, then `bound` at the first bind.
"""

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

CONTROLLERS = 500
LISTED = {"/api/v1/nodes", "/api/v1/pods", "/api/v1/namespaces"}
BUILT_IN = ("/api/v1/", "/apis/apps/v1/", "/apis/batch/v1/", "/apis/policy/v1/", "/apis/storage.k8s.io/v1/")
PLAIN = ("/apis/scheduling.k8s.io/v1/", "/apis/events.k8s.io/v1/")
EMPTY: dict[str, Any] = {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}
ABSENT = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
MARK = "\u0001"
"""Stands for the number of an object in its text."""


def node() -> str:
    """A node as a cloud's controllers leave it."""
    labels = {
        "kubernetes.io/hostname": f"node-{MARK}",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": "m5.8xlarge",
        "topology.kubernetes.io/zone": "a",
    }
    amounts = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "200Gi"}
    conditions = [
        {"type": each, "status": "False", "reason": f"KubeletHasNo{each}", "message": "kubelet has no trouble"}
        for each in ("MemoryPressure", "DiskPressure", "PIDPressure")
    ]
    images = [{"names": [f"registry.example/team/app-{row}:1.{row}"], "sizeBytes": 10**8 + row} for row in range(20)]
    return json.dumps(
        {
            "metadata": _meta(f"node-{MARK}", "") | {"labels": labels},
            "spec": {"podCIDR": "10.0.0.0/24", "providerID": f"aws:///a/i-{MARK}"},
            "status": {"capacity": amounts, "allocatable": amounts, "conditions": conditions, "images": images},
        }
    )


def pod(controller: int, where: str) -> str:
    """A pod of a ReplicaSet; `where` is the node it runs on, empty for one that waits."""
    app = f"app-{controller}"
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app, "controller": True}
    mount = {"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}
    container = {
        "name": "main",
        "image": f"registry.example/team/{app}:1.0",
        "env": [{"name": f"SETTING_{row}", "value": f"value {row}"} for row in range(8)],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        "volumeMounts": [mount],
        "imagePullPolicy": "IfNotPresent",
    }
    spec = {
        "schedulerName": "fairlead",
        "volumes": [{"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}],
        "containers": [container],
        "restartPolicy": "Always",
        "serviceAccountName": "default",
        "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    status: dict[str, Any] = {"phase": "Pending"}
    if where:
        spec["nodeName"] = where
        ready = [{"type": each, "status": "True"} for each in ("Initialized", "Ready", "PodScheduled")]
        running = {"name": "main", "ready": True, "image": container["image"], "state": {"running": {}}}
        status = {"phase": "Running", "conditions": ready, "containerStatuses": [running], "podIP": "10.0.0.1"}
    meta = _meta(f"{app}-{MARK}", f"team-{controller % 50}") | {"labels": {"app": app}, "ownerReferences": [owner]}
    return json.dumps({"metadata": meta, "spec": spec, "status": status})


def _meta(name: str, namespace: str) -> dict[str, Any]:
    touched: dict[str, Any] = {
        f"f:{each}": {".": {}, "f:value": {}} for each in ("labels", "spec", "containers", "status", "resources")
    }
    return {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        "uid": f"{name}-00000000-0000-0000-0000-000000000000",
        "resourceVersion": "7",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [
            {"manager": each, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": touched}}
            for each in ("kube-controller-manager", "kubelet")
        ],
    }


class LargeCluster:
    """The lists, page by page."""

    def __init__(self, nodes: int, pods: int) -> None:
        self.sizes = {"/api/v1/nodes": nodes, "/api/v1/pods": pods, "/api/v1/namespaces": 0}
        self._node = node()
        self._pods = [pod(controller, f"node-{MARK}") for controller in range(CONTROLLERS)]
        self._last = pod(0, "")

    def page(self, path: str, start: int, limit: int) -> bytes:
        """Objects from a row on, with the token of the next page."""
        size = self.sizes[path]
        end = min(start + limit, size) if limit else size
        make = self._one_node if path.endswith("nodes") else self._one_pod
        text = ",".join(make(row) for row in range(start, end))
        token = f'"continue":"{end}","remainingItemCount":{size - end},' if end < size else ""
        return (
            f'{{"kind":"List","apiVersion":"v1","metadata":{{{token}"resourceVersion":"7"}},"items":[{text}]}}'.encode()
        )

    def _one_node(self, row: int) -> str:
        return self._node.replace("\\u0001", str(row))

    def _one_pod(self, row: int) -> str:
        if row == self.sizes["/api/v1/pods"] - 1:
            return self._last.replace("\\u0001", "last")
        like = self._pods[row % CONTROLLERS]
        # Every pod has a name of its own; the node it runs on is named by the same number, so it is put in first.
        return like.replace(
            '"nodeName": "node-\\u0001"', f'"nodeName": "node-{row % self.sizes["/api/v1/nodes"]}"'
        ).replace("\\u0001", str(row))


class Server(asyncio.Protocol):
    """HTTP/1.1 with kept connections, as far as a client of the API needs it."""

    def __init__(self, cluster: LargeCluster, on_bound: Callable[[], None]) -> None:
        self._cluster, self._on_bound = cluster, on_bound
        self._read = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._read += data
        while (end := self._read.find(b"\r\n\r\n")) >= 0:
            head = self._read[:end].decode("latin-1")
            length = next(
                (int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:")), 0
            )
            if len(self._read) < end + 4 + length:
                return
            body = bytes(self._read[end + 4 : end + 4 + length])
            del self._read[: end + 4 + length]
            method, target, _ = head.split(" ", 2)
            self._answer(method, urlsplit(target), body)

    def _answer(self, method: str, target: Any, body: bytes) -> None:
        query = {name: values[0] for name, values in parse_qs(target.query).items()}
        if method == "GET" and query.get("watch"):
            self._transport.write(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n"
            )
        elif method == "GET" and target.path in LISTED:
            self._send(200, self._cluster.page(target.path, int(query.get("continue", 0)), int(query.get("limit", 0))))
        elif method == "GET" and target.path == "/apis":
            self._send(200, b'{"kind": "APIGroupList", "groups": []}')
        elif method == "GET":
            there = target.path.startswith((*BUILT_IN, *PLAIN)) and target.path.count("/") > 3 - (
                "/api/v1/" in target.path
            )
            self._send(*((200, json.dumps(EMPTY).encode()) if there else (404, json.dumps(ABSENT).encode())))
        else:
            if target.path.endswith("/binding"):
                self._on_bound()
            self._send(201, body or b"{}")

    def _send(self, status: int, body: bytes) -> None:
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)


async def serve(nodes: int, pods: int) -> None:
    """Until ended."""
    cluster, bound = LargeCluster(nodes, pods), asyncio.Event()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Server(cluster, bound.set), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await bound.wait()
    print("bound", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    import uvloop

    uvloop.run(serve(*map(int, sys.argv[1:])))
