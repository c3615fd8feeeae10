"""Webhook processes for cluster tests: started as a user would start them, behind one address like a Service."""

import asyncio
import base64
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tools.controlplane.api import Api, ApiError
from tools.controlplane.plane import ControlPlane

from fairlead.live.webhook.certificates import issue, make_authority
from tests.deploys import added, apply, deployed, place

NAMESPACE = "fairlead-system"
HERE = {"fairlead.test/webhook": "on"}
"""Only namespaces with this label are served, so that other tests are left alone."""

CERTIFICATE_ROLE = "fairlead-webhook-certificate"
"""Left out where somebody else provides the certificate."""

CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def manifests() -> list[dict[str, Any]]:
    """Every object of the deployment files, in the order of their list."""
    return deployed("common", "webhook")


@dataclass
class Replica:
    """One process."""

    process: subprocess.Popen[bytes]
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
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(60)


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


START = """
import sys
import msgspec
from pathlib import Path
from fairlead.settings import read_configuration
from fairlead.live.runtime.logs import start_log
from fairlead.live.webhook.main import start

start_log("console", "info")
kubeconfig, config, lapse = sys.argv[1:]
found = read_configuration(Path(config).read_bytes(), config)
settings = {"listen": "127.0.0.1:0", "health": "127.0.0.1:0", "lapse_seconds": float(lapse)}
start(msgspec.structs.replace(found, webhook=msgspec.structs.replace(found.webhook, **settings)), kubeconfig, "")
"""
"""Starts a replica whose reservations lapse sooner than a configuration may say: sooner than all creations end."""


@dataclass(frozen=True)
class Setting:
    """How the replicas run: their mode, what the API server does without them, whether repair is on, how many."""

    mode: str
    policy: str = "Fail"
    repair: bool = False
    back: bool = False
    own_certificate: bool = True
    lapse_seconds: float = 45.0
    count: int = 3

    @property
    def sections(self) -> dict[str, Any]:
        """The configuration of a replica."""
        webhook = {"mode": self.mode, "names": ["127.0.0.1"], "drainSeconds": 0.5}
        # Nodes of other tests carry no label of a tier, and some tests here have no nodes at all.
        tier = {"presets": ["fairlead"]}
        head = {"apiVersion": "fairlead.io/v1alpha1", "kind": "Configuration"}
        found: dict[str, Any] = {**head, "webhook": webhook, "tier": tier}
        if self.repair:
            found["evictions"] = {"allowed": True, "perMinute": 6000}
            found["repair"] = {"periodSeconds": 1, "back": self.back}
        return found

    @property
    def rights(self) -> list[dict[str, Any]]:
        """The roles, and their bindings, that the setting needs besides."""
        gated = added("webhook-gated", "webhook") if self.mode == "gated" else []
        repair = added("webhook-evictions", "webhook") if self.repair else []
        return gated + repair


SETTINGS = {
    "webhook": Setting("webhook"),
    "gated": Setting("gated"),
    "webhook-repair": Setting("webhook", policy="Ignore", repair=True, count=2),
    "gated-repair": Setting("gated", policy="Ignore", repair=True, count=2),
    "back": Setting("webhook", repair=True, back=True, count=1),
    "files": Setting("webhook", own_certificate=False, count=1),
    "hasty": Setting("webhook", lapse_seconds=8.0, count=2),
}


@dataclass
class Webhooks:
    """The replicas with what they need in the cluster."""

    api: Api
    kubeconfig: Path
    folder: Path
    balancer: Balancer
    setting: Setting
    replicas: list[Replica] = field(default_factory=list)
    rights: list[dict[str, Any]] = field(default_factory=list)
    program: tuple[str, ...] = ("-m", "fairlead")
    sources: Path | None = None
    """Where another version of the program is."""
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def start(self, count: int = 1) -> None:
        """Start replicas, all at once, and wait until they are ready."""
        started = [self._spawn() for _ in range(count)]
        for replica in itertools.starmap(_listening, started):
            self.api.wait("the webhook is ready", lambda each=replica: each.get("/readyz")[0] == 200)
            self.replicas.append(replica)
        self._route()

    def _spawn(self) -> "tuple[subprocess.Popen[bytes], Path]":
        """A new replica, and the file of its log."""
        config = self.folder / "configuration.json"
        sections = self.setting.sections
        if not self.setting.own_certificate:
            sections["webhook"]["certificateFolder"] = str(self.folder)
        config.write_text(json.dumps(sections))
        arguments = [*self.program, "webhook", "--kubeconfig", str(self.kubeconfig), "--config", str(config)]
        arguments += ["--listen", "127.0.0.1:0", "--health", "127.0.0.1:0"]
        if self.setting.lapse_seconds != SETTINGS["webhook"].lapse_seconds:
            arguments = ["-c", START, str(self.kubeconfig), str(config), str(self.setting.lapse_seconds)]
        environment = os.environ | ({} if self.sources is None else {"PYTHONPATH": str(self.sources)})
        path = self.folder / f"webhook-{next(self.numbers)}.log"
        with path.open("w") as log:
            return subprocess.Popen([sys.executable, *arguments], stderr=log, stdout=log, env=environment), path

    def kill(self, *replicas: Replica, number: int = signal.SIGKILL) -> None:
        """End some, without warning by default."""
        for replica in replicas:
            replica.process.send_signal(number)
        for replica in replicas:
            replica.end(number)
            self.replicas.remove(replica)
        self._route()

    def turn_into(self, setting: Setting) -> None:
        """Go on in another setting, with new replicas."""
        count = len(self.replicas)
        self.kill(*self.replicas, number=signal.SIGTERM)
        self.setting = setting
        self.bind()
        self.serve(self.balancer.port)
        self.start(count)

    def bind(self) -> None:
        """Give the ServiceAccount the rights that the setting needs besides."""
        for each in self.setting.rights:
            self.rights.append(each)
            apply(self.api, each)

    @property
    def leader(self) -> Replica | None:
        """The elected one, if there is one now."""
        return next((each for each in self.replicas if "\nfairlead_leader 1.0" in each.get("/metrics")[1]), None)

    @property
    def words(self) -> str:
        """What all replicas have logged."""
        return "".join(path.read_text() for path in self.folder.glob("*.log"))

    def _route(self) -> None:
        self.balancer.ports = [each.port for each in self.replicas]

    def serve(self, port: int) -> None:
        """Put the configurations into force, with an address on this machine."""
        for manifest in manifests():
            if manifest["kind"] not in CONFIGURATIONS:
                continue
            for webhook in manifest["webhooks"]:
                path = webhook["clientConfig"].pop("service")["path"]
                webhook["clientConfig"]["url"] = f"https://127.0.0.1:{port}{path}"
                webhook["failurePolicy"] = self.setting.policy
                webhook["namespaceSelector"]["matchLabels"] = HERE
                if not self.setting.own_certificate:
                    bundle = (self.folder / "ca.crt").read_bytes()
                    webhook["clientConfig"]["caBundle"] = base64.b64encode(bundle).decode()
            apply(self.api, manifest)


def _listening(process: "subprocess.Popen[bytes]", log: Path) -> Replica:
    """The replica, once its log says where it listens."""
    while (ports := _ports(log.read_text())) is None:
        assert process.poll() is None, f"the webhook did not start: {log.read_text()[-500:]}"
        time.sleep(0.05)
    return Replica(process, *ports)


def _ports(log: str) -> tuple[int, int] | None:
    """The ports of reviews and of health, in the words of today or of 0.1.0."""
    if found := re.search(r"serving reviews .*health=(\d+) .*port=(\d+)", log):
        return int(found[2]), int(found[1])
    found = re.search(r"reviews on port (\d+), health on port (\d+)", log)
    return None if found is None else (int(found[1]), int(found[2]))


@contextmanager
def webhooks(
    plane: ControlPlane,
    folder: Path,
    setting: Setting,
    *,
    count: int | None = None,
    objects: Sequence[dict[str, Any]] | None = None,
) -> Iterator[Webhooks]:
    """Replicas that run under the ServiceAccount of the deployment files, serving labelled namespaces.

    `objects` are applied instead of those files.
    """
    for manifest in manifests() if objects is None else objects:
        if manifest["kind"] == "Deployment":
            apply(plane.api, manifest, dryRun="All")  # its image is not here: the processes are started by hand
        elif not setting.own_certificate and manifest["metadata"]["name"] == CERTIFICATE_ROLE:
            with suppress(ApiError):
                plane.api.delete(place(manifest))
        elif manifest["kind"] not in CONFIGURATIONS:
            apply(plane.api, manifest)
    path = "/apis/fairlead.io/v1alpha1/tierledgers"
    plane.api.wait("the ledgers are served", lambda: plane.api.items(path) is not None)
    kubeconfig = plane.kubeconfig_for_service_account(NAMESPACE, "fairlead-webhook")
    if not setting.own_certificate:
        certify(folder)
    with Balancer().running() as balancer:
        these = Webhooks(plane.api, kubeconfig, folder, balancer, setting)
        try:
            these.bind()
            these.serve(balancer.port)
            these.start(setting.count if count is None else count)
            yield these
        finally:
            for manifest in manifests():
                if manifest["kind"] in CONFIGURATIONS:
                    with suppress(ApiError):
                        plane.api.delete(place(manifest))
            these.kill(*these.replicas, number=signal.SIGTERM)
            for each in these.rights:
                with suppress(ApiError):
                    plane.api.delete(place(each))


def certify(folder: Path) -> None:
    """What cert-manager keeps in the Secret that is mounted."""
    now = datetime.now(UTC)
    authority = make_authority(now)
    pair = issue(authority, ["127.0.0.1"], now)
    for name, text in (("ca.crt", authority.certificate), ("tls.crt", pair.certificate), ("tls.key", pair.key)):
        (folder / name).write_text(text)
