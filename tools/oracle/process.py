"""The oracle as a child process: a cluster in, its answer out."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import TracebackType

import msgspec

from fairlead.kube.decode import decode
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.kube.objects.policy import Namespace
from fairlead.kube.objects.storage import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from tools.oracle.clusters import Cluster


class Admitted(msgspec.Struct, frozen=True, gc=False):
    """The objects as the API server would have stored them, as Fairlead decodes them."""

    namespaces: tuple[Namespace, ...] = ()
    nodes: tuple[Node, ...] = ()
    pods: tuple[Pod, ...] = ()
    persistentvolumes: tuple[PersistentVolume, ...] = ()
    persistentvolumeclaims: tuple[PersistentVolumeClaim, ...] = ()
    storageclasses: tuple[StorageClass, ...] = ()
    csinodes: tuple[CsiNode, ...] = ()
    csidrivers: tuple[CsiDriver, ...] = ()
    csistoragecapacities: tuple[CsiStorageCapacity, ...] = ()
    volumeattachments: tuple[VolumeAttachment, ...] = ()


class Refusal(msgspec.Struct, frozen=True, gc=False):
    """The plugin that refuses, and why."""

    plugin: str
    reason: str


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """kube-scheduler's answer for one pod; `everywhere` where it is refused before any node is looked at."""

    feasible: frozenset[str]
    refused: dict[str, Refusal]
    everywhere: Refusal | None = None

    def why(self, node: str) -> str:
        """The plugin and its reason for this node."""
        found = self.everywhere or self.refused.get(node)
        return f"{found.plugin}: {found.reason}" if found else "feasible"


class Answer(msgspec.Struct, frozen=True, gc=False):
    """The oracle's answer to a cluster; `invalid` are objects that the API server would refuse, and why."""

    admitted: Admitted
    invalid: dict[str, str]
    pods: dict[str, Verdict]


class Oracle:
    """One child process. Asking it after it has died raises `RuntimeError` with its last words."""

    def __init__(self, program: Path) -> None:
        pipe = subprocess.PIPE
        self._child = subprocess.Popen([program], stdin=pipe, stdout=pipe, stderr=pipe)

    def ask(self, cluster: Cluster) -> Answer:
        """The answer to one cluster."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            self._child.stdin.write(msgspec.json.encode(cluster) + b"\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            line = b""
        else:
            line = self._child.stdout.readline()
        if not line:
            raise RuntimeError(f"the oracle ended: {self._last_words()}")
        return decode(line, Answer, "the oracle")

    def _last_words(self) -> str:
        assert self._child.stderr is not None
        return self._child.stderr.read().decode(errors="replace")[-2000:]

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._child.kill()
        self._child.communicate()
