"""What every race of schedulers on a real API server needs: rights, command lines, a start, costs, a page."""

import compileall
import http.client
import io
import json
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, TypeVar

from tools.controlplane import build
from tools.controlplane.api import Api
from tools.controlplane.commands import switches
from tools.controlplane.plane import ControlPlane
from tools.controlplane.processes import free_ports

import fairlead as package
from bench.measure import Report

PODS = "/api/v1/namespaces/default/pods"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
PROOF = Path(__file__).parents[1] / "docs" / "proof"
MOST_SECONDS = 150.0
"""A contestant that takes longer is stopped, and what it has bound by then counts."""
_ANYBODY = ssl._create_unverified_context()

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """The pods it schedules, how it is started (plane, kubeconfig, a free port), and whether it may write Events."""

    scheduler: str
    command: Callable[[ControlPlane, Path, int], list[str]]
    events: bool = True
    says_ready: bool = True
    """Whether it has a page that says so. Only where there is none the API server is asked, for that takes its time."""


def account(plane: ControlPlane, *, events: bool, more: Sequence[dict[str, Any]] = ()) -> Path:
    """The kubeconfig of a ServiceAccount that may read everything and write what Kubernetes lets its scheduler write.

    `more` are further rules. Without Events the right to write them is missing: kube-scheduler cannot be told to write
    none, and refused ones cost it and the server next to nothing.
    """
    api = plane.api
    own = plane.kubeconfig_for_service_account("default", "contestant")
    rules = [
        rule
        for name in ("system:kube-scheduler", "system:volume-scheduler")
        for rule in api.get(f"{ROLES}/{name}")["rules"]
        if events or "events" not in rule.get("resources", ())
    ]
    rules += [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}, *more]
    api.create(ROLES, {"metadata": {"name": "contestant"}, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "contestant"}
    subject = {"kind": "ServiceAccount", "name": "contestant", "namespace": "default"}
    body = {"metadata": {"name": "contestant"}, "roleRef": role, "subjects": [subject]}
    api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", body)
    return own


def kube(plane: ControlPlane, own: Path, port: int) -> list[str]:
    """The stock kube-scheduler with its client limits lifted and the feature gates of the API server."""
    file = plane.folder / "contestant.json"
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(own), "qps": 5000, "burst": 10000},
        "leaderElection": {"leaderElect": False},
    }
    file.write_text(json.dumps(configuration))
    admin = plane.kubeconfig
    return [
        str(build.ensure(print) / "kube-scheduler"),
        f"--config={file}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--authentication-kubeconfig={admin}",
        f"--authorization-kubeconfig={admin}",
        f"--cert-dir={plane.folder}",
        *switches("feature-gates", plane.options.feature_gates),
    ]


def fairlead(*more: str) -> Callable[[ControlPlane, Path, int], list[str]]:
    """Fairlead's scheduler."""

    def command(plane: ControlPlane, own: Path, port: int) -> list[str]:
        options = ["--kubeconfig", str(own), "--no-leader-election", "--listen", f"127.0.0.1:{port}", *more]
        return [*compiled(), "scheduler", *options]

    return command


def compiled() -> list[str]:
    """How Fairlead is started, compiled before as an installation is: the environment may forbid Python to do so."""
    compileall.compile_dir(Path(package.__file__).parent, quiet=2)
    return [sys.executable, "-m", "fairlead"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """A contestant that runs."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    began: float
    """When its process was started, by the monotonic clock."""

    def pause(self, deadline: float, seconds: float = 0.0) -> None:
        """Wait a moment, or so many seconds if that is longer; an error where it has ended or time is up."""
        if self.process.poll() is not None or time.monotonic() > deadline:
            last = "\n".join(self.log.read_text(errors="replace").splitlines()[-5:])
            raise RuntimeError(f"{self.name} was not done, exit code {self.process.poll()}; its last words:\n{last}")
        time.sleep(max(seconds, 0.05))

    def cost(self) -> tuple[float, float]:
        """CPU seconds and peak MiB so far."""
        return cost(self.process.pid)


def cost(pid: int) -> tuple[float, float]:
    """CPU seconds and peak MiB of a process so far."""
    place = Path(f"/proc/{pid}")
    fields = (place / "stat").read_text().rpartition(")")[2].split()
    peak = next(line for line in (place / "status").read_text().splitlines() if line.startswith("VmHWM"))
    return (int(fields[11]) + int(fields[12])) / 100, int(peak.split()[1]) / 1024


@contextmanager
def started(name: str, who: Contestant, plane: ControlPlane, own: Path) -> Iterator[Runner]:
    """The contestant, from the moment it is ready, or has bound its first pod where it cannot say so; then it is ended.

    One that does not get so far is started once more, for its port may have been taken meanwhile.
    """
    try:
        runner = _start(name, who, plane, own)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        runner = _start(name, who, plane, own)
    try:
        yield runner
    finally:
        _end(runner.process)


def _start(name: str, who: Contestant, plane: ControlPlane, own: Path) -> Runner:
    log, port = plane.folder / "contestant.log", free_ports(1)[0]
    command, began = who.command(plane, own, port), time.monotonic()
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=stream)
    try:
        runner = Runner(name=name, process=process, log=log, began=began)
        deadline = time.monotonic() + MOST_SECONDS
        while not (_ready(port) if who.says_ready else _any_bound(plane.api)):
            runner.pause(deadline)
    except BaseException:
        _end(process)
        raise
    return runner


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(30)


def _any_bound(api: Api) -> bool:
    """Whether the server has a pod with a node."""
    return bool(api.get(PODS, fieldSelector="spec.nodeName!=", limit=1, resourceVersion="0")["items"])


def _ready(port: int) -> bool:
    """Whether the contestant says that its caches are full."""
    for scheme in ("http", "https"):
        try:
            with urllib.request.urlopen(f"{scheme}://127.0.0.1:{port}/readyz", timeout=5, context=_ANYBODY) as answer:
                return bool(answer.status == 200)
        except urllib.error.HTTPError as error:
            # Not ready; a server without TLS is not asked with it, for it would wait for seconds for the rest of a
            # greeting. Go's server answers 400 where it speaks only TLS.
            if error.code != http.HTTPStatus.BAD_REQUEST:
                return False
        except (OSError, http.client.HTTPException):
            continue
    return False


def prove(page: Path, introduction: str, compare: Callable[[Report, tuple[R, ...]], None], rounds: Sequence[R]) -> None:
    """The rounds on the terminal, and the same tables as a page, which grows with every round."""
    text = io.StringIO()
    for each in rounds:
        compare(Report(_Both(sys.stdout, text)), (each,))
        page.write_text(f"{introduction}\n```text{text.getvalue()}```\n")


class _Both(io.StringIO):
    """A stream that writes to two."""

    def __init__(self, *streams: TextIO) -> None:
        super().__init__()
        self._streams = streams

    def write(self, text: str) -> int:
        for each in self._streams:
            each.write(text)
        return len(text)

    def flush(self) -> None:
        for each in self._streams:
            each.flush()
