"""The command line of each component. Everything listens on loopback only; nothing here starts anything."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.controlplane.access import Access
from tools.controlplane.processes import HOST

STAGES = Path(__file__).with_name("stages.yaml")
# ServiceAccount would want a token volume in every pod, TaintNodesByCondition a controller that lifts its taint.
ADMISSION_OFF = ("ServiceAccount", "TaintNodesByCondition")
# Node lifecycle judges heartbeats that nobody sends here; the others need a cloud.
CONTROLLERS_OFF = ("node-lifecycle-controller", "node-ipam-controller")
# Client limits far above what two cores can do: a test measures the server, not a client's brake.
CLIENT_QPS, CLIENT_BURST = 5000, 10000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Where each component listens."""

    etcd: int
    etcd_peer: int
    apiserver: int
    controller_manager: int
    scheduler: int
    kwok: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a control plane consists of and how it differs from the ordinary one. See `ControlPlane`."""

    controller_manager: bool = True
    scheduler: bool = True
    kwok: bool = True
    scheduler_names: Sequence[str] = ("default-scheduler",)
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    runtime_config: Mapping[str, bool] = field(default_factory=dict)
    apiserver_args: Sequence[str] = ()
    controller_manager_args: Sequence[str] = ()
    scheduler_args: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Files and ports of one running control plane."""

    binaries: Path
    folder: Path
    ports: Ports
    access: Access

    @property
    def data(self) -> Path:
        """etcd's folder."""
        return self.folder / "data"


def etcd(at: Layout) -> list[str]:
    """etcd without fsync: a test's data need not survive a power cut."""
    client, peer = f"http://{HOST}:{at.ports.etcd}", f"http://{HOST}:{at.ports.etcd_peer}"
    return [
        str(at.binaries / "etcd"),
        "--name=test",
        f"--data-dir={at.data}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=test={peer}",
        "--unsafe-no-fsync",
        "--quota-backend-bytes=4294967296",
        "--log-level=warn",
    ]


def apiserver(at: Layout, options: Options) -> list[str]:
    """kube-apiserver with RBAC, a token file, client certificates and service account tokens."""
    return [
        str(at.binaries / "kube-apiserver"),
        f"--etcd-servers=http://{HOST}:{at.ports.etcd}",
        f"--bind-address={HOST}",
        f"--advertise-address={HOST}",
        f"--secure-port={at.ports.apiserver}",
        # The endpoints of the service `kubernetes` may not be on loopback, so nobody keeps them.
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.0.0.0/16",
        f"--tls-cert-file={at.access.serving.certificate}",
        f"--tls-private-key-file={at.access.serving.key}",
        f"--client-ca-file={at.access.authority}",
        f"--token-auth-file={at.access.tokens}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={at.access.service_account_key}",
        f"--service-account-signing-key-file={at.access.service_account_key}",
        f"--disable-admission-plugins={','.join(ADMISSION_OFF)}",
        # Without it a stop waits a minute for watches that nobody tells to end.
        "--shutdown-watch-termination-grace-period=5s",
        "--v=1",
        *switches("runtime-config", options.runtime_config),
        *switches("feature-gates", options.feature_gates),
        *options.apiserver_args,
    ]


def controller_manager(at: Layout, options: Options) -> list[str]:
    """kube-controller-manager without election and without the node lifecycle controller."""
    off = ",".join(f"-{name}" for name in CONTROLLERS_OFF)
    return [
        str(at.binaries / "kube-controller-manager"),
        f"--kubeconfig={at.access.kubeconfig}",
        f"--bind-address={HOST}",
        f"--secure-port={at.ports.controller_manager}",
        f"--tls-cert-file={at.access.serving.certificate}",
        f"--tls-private-key-file={at.access.serving.key}",
        "--leader-elect=false",
        f"--controllers=*,{off}",
        f"--service-account-private-key-file={at.access.service_account_key}",
        f"--root-ca-file={at.access.authority}",
        f"--kube-api-qps={CLIENT_QPS}",
        f"--kube-api-burst={CLIENT_BURST}",
        "--v=1",
        *switches("feature-gates", options.feature_gates),
        *options.controller_manager_args,
    ]


def scheduler(at: Layout, options: Options) -> list[str]:
    """The stock kube-scheduler, answering to `scheduler_names`; writes its configuration file."""
    configuration = at.folder / "scheduler.json"
    configuration.write_text(json.dumps(_scheduler_configuration(at, options), indent=1))
    return [
        str(at.binaries / "kube-scheduler"),
        f"--config={configuration}",
        f"--bind-address={HOST}",
        f"--secure-port={at.ports.scheduler}",
        f"--tls-cert-file={at.access.serving.certificate}",
        f"--tls-private-key-file={at.access.serving.key}",
        "--v=1",
        *switches("feature-gates", options.feature_gates),
        *options.scheduler_args,
    ]


def kwok(at: Layout) -> list[str]:
    """KWOK for every node there is, with our stages and without leases."""
    return [
        str(at.binaries / "kwok"),
        f"--kubeconfig={at.access.kubeconfig}",
        f"--config={STAGES}",
        "--manage-all-nodes=true",
        "--node-lease-duration-seconds=0",
        f"--server-address={HOST}:{at.ports.kwok}",
    ]


def _scheduler_configuration(at: Layout, options: Options) -> dict[str, object]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(at.access.kubeconfig), "qps": CLIENT_QPS, "burst": CLIENT_BURST},
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": name} for name in options.scheduler_names],
    }


def switches(flag: str, values: Mapping[str, bool]) -> list[str]:
    """Named switches as one argument; none where there are none."""
    if not values:
        return []
    return [f"--{flag}=" + ",".join(f"{name}={str(on).lower()}" for name, on in sorted(values.items()))]
