"""A real Kubernetes control plane on loopback: etcd, API server, controllers, scheduler, KWOK.

with ControlPlane() as plane:
    plane.create_kwok_nodes(10)
    run_something_with(plane.kubeconfig)
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import shutil
import signal
import ssl
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

from tools.controlplane import another, build, commands
from tools.controlplane.access import Access, service_account_token
from tools.controlplane.api import Api, ApiError, Object
from tools.controlplane.commands import Layout, Options, Ports
from tools.controlplane.nodes import NodeShape, create_kwok_nodes
from tools.controlplane.processes import (
    HOST,
    Component,
    ControlPlaneError,
    Guard,
    PortTakenError,
    free_ports,
    wait_until,
)

START_ATTEMPTS = 3
# Seconds that are never needed on an idle machine; a busy one takes its time.
READY_SECONDS = 120.0
STOP_SECONDS = 60.0


def _built() -> Path:
    """The programs of the version that is asked for, built if they never were."""

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    return build.ensure(say, another.chosen(say))


class ControlPlane:
    """One control plane in a folder of its own, with ports of its own; several can run side by side.

    Not started by the constructor: use it in a `with` statement, or call `start` and `stop`. A plane can be
    started once. Its processes end with this program even when it is killed.
    """

    def __init__(self, options: Options | None = None, *, binaries: Path | None = None) -> None:
        self.options = options or Options()
        self._binaries = binaries
        self._guard: Guard | None = None
        self._layout: Layout | None = None
        self._components: dict[str, Component] = {}
        self._stopped = False
        self.folder = Path()
        self.api: Api

    # 1. Life

    def start(self) -> Self:
        """Build the binaries if needed, start every part and wait until all are ready."""
        binaries = self._binaries or _built()
        for _ in range(START_ATTEMPTS - 1):
            with contextlib.suppress(PortTakenError):
                return self._start(binaries)
        return self._start(binaries)

    def _start(self, binaries: Path) -> Self:
        self._stopped = False
        try:
            self._layout = self._prepare(binaries)
            self._guard = Guard(self._layout.data)
            self._components = self._compose(self._layout)
            self._launch("etcd")
            self._launch("kube-apiserver")
            self.api = Api.from_kubeconfig(self.kubeconfig)
            self._wait_apiserver(READY_SECONDS)
            for name in self._followers():
                self._launch(name)
            self.wait_ready()
        except BaseException as error:
            self.stop(keep_logs=isinstance(error, ControlPlaneError) and not isinstance(error, PortTakenError))
            raise
        return self

    def stop(self, *, keep_logs: bool = False) -> None:
        """Stop everything, the API server before etcd, and remove the folder; `keep_logs` leaves `logs` there.

        Calling it again does nothing.
        """
        if self._stopped or not self.folder.name:
            return
        self._stopped = True
        # Without etcd the API server never finishes stopping and keeps its port.
        for group in (self._followers(), ["kube-apiserver"], ["etcd"]):
            parts = [self._components[name] for name in group if name in self._components]
            for part in parts:
                part.signal(signal.SIGTERM)
            for part in parts:
                part.wait(STOP_SECONDS)
        if self._guard is not None:
            self._guard.dismiss()
        for entry in self.folder.iterdir():
            if entry.is_file():
                entry.unlink()
            elif entry != self.logs or not keep_logs:
                shutil.rmtree(entry, ignore_errors=True)
        if not keep_logs:
            self.folder.rmdir()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # An interrupt is an order, not a failure to look into.
        self.stop(keep_logs=isinstance(error, Exception))

    def wait_ready(self, seconds: float = READY_SECONDS) -> None:
        """Wait until every part that should run says it is ready; fails at once if one has died."""
        self._wait_apiserver(seconds)
        for name in self._followers():
            probe = partial(self._healthy, name)
            wait_until(f"{name} ready", probe, seconds=seconds, components=list(self._components.values()))

    # 2. Disturbing it

    def stop_apiserver(self, *, kill: bool = False) -> None:
        """Stop the API server and wait for its end; `kill` gives it no time, as a crash would."""
        part = self._components["kube-apiserver"]
        part.signal(signal.SIGKILL if kill else signal.SIGTERM)
        part.wait(STOP_SECONDS)

    def start_apiserver(self, seconds: float = READY_SECONDS) -> None:
        """Start the stopped API server again, on the same port, and wait until it is ready."""
        self._launch("kube-apiserver")
        self._wait_apiserver(seconds)

    def restart_apiserver(self, *, kill: bool = False) -> None:
        """Stop and start the API server: every watch is cut, and resource versions from before may be too old."""
        self.stop_apiserver(kill=kill)
        self.start_apiserver()

    def forget_history(self) -> None:
        """Make every resource version and continue token from before answer 410 Gone.

        etcd is compacted, and the API server restarted because it would serve them from its own memory.
        """
        connection = http.client.HTTPConnection(HOST, self._at.ports.etcd, timeout=30)
        with contextlib.closing(connection):
            anything = base64.b64encode(b"/").decode()
            revision = int(_etcd(connection, "/v3/kv/range", {"key": anything})["header"]["revision"])
            _etcd(connection, "/v3/kv/compaction", {"revision": revision, "physical": True})
        self.restart_apiserver()

    def write_counts(self, prefix: str) -> dict[str, int]:
        """How often each stored object under `/registry/<prefix>` was written since it was created, by the last part
        of its key. No restart and no missed watch event can hide a write from this."""
        start = f"/registry/{prefix}".encode()
        after = start[:-1] + bytes([start[-1] + 1])
        span = {"key": base64.b64encode(start).decode(), "range_end": base64.b64encode(after).decode()}
        connection = http.client.HTTPConnection(HOST, self._at.ports.etcd, timeout=30)
        with contextlib.closing(connection):
            found = _etcd(connection, "/v3/kv/range", {**span, "keys_only": True}).get("kvs", [])
        return {base64.b64decode(each["key"]).decode().rpartition("/")[2]: int(each["version"]) for each in found}

    # 3. Access

    @property
    def server(self) -> str:
        """The API server's address, `https://127.0.0.1:<port>`."""
        return self._at.access.server

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of `admin`, in `system:masters`, by token."""
        return self._at.access.kubeconfig

    @property
    def ca_file(self) -> Path:
        """The authority's certificate: what a client verifies the server with."""
        return self._at.access.authority

    @property
    def logs(self) -> Path:
        """The folder with one log per component."""
        return self.folder / "logs"

    def kubeconfig_for_service_account(self, namespace: str, name: str, *, seconds: int = 3600) -> Path:
        """A kubeconfig with a token of that service account, which is created if it does not exist."""
        token = self.service_account_token(namespace, name, seconds=seconds)
        return self._at.access.for_service_account(namespace, name, token)

    def service_account_token(self, namespace: str, name: str, *, seconds: int = 3600) -> str:
        """A token from the TokenRequest API, valid for `seconds` (600 at least)."""
        return service_account_token(self.api, namespace, name, seconds)

    def kubeconfig_for_user(self, user: str, groups: Sequence[str] = ()) -> Path:
        """A kubeconfig with a client certificate for any user and groups; rights are RBAC's business."""
        return self._at.access.for_user(user, groups)

    def create_kwok_nodes(self, count: int, **shape: Unpack[NodeShape]) -> list[str]:
        """Create `count` Ready nodes as admin and return their names. See `nodes.create_kwok_nodes`."""
        return create_kwok_nodes(self.api, count, **shape)

    def pids(self) -> dict[str, int]:
        """The process id of every part that runs."""
        return {name: part.pid for name, part in self._components.items() if part.pid is not None}

    def resident_bytes(self) -> dict[str, int]:
        """Memory of every part, now."""
        return {name: part.resident_bytes() for name, part in self._components.items()}

    # 4. Parts

    @property
    def _at(self) -> Layout:
        if self._layout is None:
            raise ControlPlaneError("the control plane was not started")
        return self._layout

    def _prepare(self, binaries: Path) -> Layout:
        """Folder, ports, keys and users, all fresh."""
        folder = self.folder = Path(tempfile.mkdtemp(prefix="fairlead-controlplane-"))
        self.logs.mkdir()
        etcd, peer, apiserver, controllers, scheduler, kwok = free_ports(6)
        ports = Ports(
            etcd=etcd,
            etcd_peer=peer,
            apiserver=apiserver,
            controller_manager=controllers,
            scheduler=scheduler,
            kwok=kwok,
        )
        access = Access(folder, f"https://{HOST}:{apiserver}")
        return Layout(binaries=binaries, folder=folder, ports=ports, access=access)

    def _compose(self, at: Layout) -> dict[str, Component]:
        """The parts that the options ask for, in the order in which they start."""
        lines = {"etcd": commands.etcd(at), "kube-apiserver": commands.apiserver(at, self.options)}
        if self.options.controller_manager:
            lines["kube-controller-manager"] = commands.controller_manager(at, self.options)
        if self.options.scheduler:
            lines["kube-scheduler"] = commands.scheduler(at, self.options)
        if self.options.kwok:
            lines["kwok"] = commands.kwok(at)
        return {name: Component(name, line, self.logs / f"{name}.log", self.folder) for name, line in lines.items()}

    def _followers(self) -> list[str]:
        """The parts that are clients of the API server."""
        return [name for name in self._components if name not in ("etcd", "kube-apiserver")]

    def _launch(self, name: str) -> None:
        assert self._guard is not None
        self._components[name].start(self._guard)

    def _wait_apiserver(self, seconds: float) -> None:
        parts = [self._components["etcd"], self._components["kube-apiserver"]]
        wait_until("kube-apiserver ready", self._apiserver_ready, seconds=seconds, components=parts)

    def _apiserver_ready(self) -> bool:
        try:
            self.api.get("/readyz")
            # Created by the server itself shortly after it is ready; nearly every test needs it.
            self.api.get("/api/v1/namespaces/default")
        except (ApiError, OSError, http.client.HTTPException):
            return False
        return True

    def _healthy(self, name: str) -> bool:
        """Whether a component's own health page says 200."""
        ports = self._at.ports
        port, path = {
            "kube-controller-manager": (ports.controller_manager, "/healthz"),
            "kube-scheduler": (ports.scheduler, "/readyz"),
            "kwok": (ports.kwok, "/healthz"),
        }[name]
        connection = http.client.HTTPConnection(HOST, port, timeout=5)
        if name != "kwok":
            tls = ssl.create_default_context(cafile=str(self.ca_file))
            connection = http.client.HTTPSConnection(HOST, port, timeout=5, context=tls)
        with contextlib.closing(connection):
            try:
                connection.request("GET", path)
                return connection.getresponse().status == 200
            except (OSError, http.client.HTTPException):
                return False


def _etcd(connection: http.client.HTTPConnection, path: str, body: Mapping[str, object]) -> Object:
    """Ask etcd through its JSON gateway."""
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    answer: Object = json.loads(connection.getresponse().read())
    if "header" not in answer:
        raise ControlPlaneError(f"etcd {path}: {answer}")
    return answer
