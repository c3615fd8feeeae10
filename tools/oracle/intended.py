"""Differences that are meant, each by the reason code of its decision page.

An intended difference is stated as a rewriting of the cluster: where kube-scheduler, asked about the rewritten
cluster, gives Fairlead's answer to the original one, the difference has that cause and no other.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from fairlead.kube.codec.shapes import selector
from fairlead.kube.objects.meta import LabelSelectorSpec
from fairlead.model.amounts import amount, is_bytes
from fairlead.model.selectors import NOT_READY, UNREACHABLE
from tools.oracle.clusters import NAME_LABEL, Cluster
from tools.oracle.draw import Raw
from tools.oracle.wishes import REQUIRED

NOWHERE = "no-namespace-of-this-name"


def closed_nodes_tainted(cluster: Cluster, pod: str, node: str) -> None:
    """Nodes that are not ready carry the taint that the node lifecycle controller gives them (0236)."""
    for closed in cluster.get("nodes", ()):
        keys = []
        for condition in closed.get("status", {}).get("conditions", ()):
            if condition["type"] == "Ready" and condition["status"] != "True":
                keys.append(NOT_READY if condition["status"] == "False" else UNREACHABLE)
        taints: list[Raw] = closed.get("spec", {}).get("taints", [])
        there = {each["key"] for each in taints if each["effect"] == "NoSchedule"}
        if new := [{"key": key, "effect": "NoSchedule"} for key in keys if key not in there]:
            closed.setdefault("spec", {})["taints"] = [*taints, *new]


def namespaces_named(cluster: Cluster, pod: str, node: str) -> None:
    """Namespace selectors of the pod that accept a namespace without labels name their namespaces (0237)."""
    known: dict[str, dict[str, str]] = {each["metadata"]["namespace"]: {} for each in cluster.get("pods", ())}
    known |= {
        each["metadata"]["name"]: {**each["metadata"].get("labels", {}), NAME_LABEL: each["metadata"]["name"]}
        for each in cluster.get("namespaces", ())
    }
    own = _pod(cluster, pod)
    for term in _required(own):
        _name_namespaces(term, known)


def _required(pod: Raw) -> Iterator[Raw]:
    affinity = pod["spec"].get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from (affinity.get(kind) or {}).get(REQUIRED) or ()


def _name_namespaces(term: Raw, known: Mapping[str, dict[str, str]]) -> None:
    chosen = selector(msgspec.convert(term.get("namespaceSelector"), LabelSelectorSpec | None))
    if chosen is None or not chosen.requirements or not chosen.selects({}):
        return
    named = {name for name, labels in known.items() if chosen.selects(labels)} | set(term.get("namespaces", ()))
    del term["namespaceSelector"]
    term["namespaces"] = sorted(named) or [NOWHERE]


def claims_counted_once(cluster: Cluster, pod: str, node: str) -> None:
    """A claim that several volumes of a pod name is named by the first alone (0238)."""
    own = _pod(cluster, pod)
    seen: set[str] = set()
    kept = []
    for volume in own["spec"].get("volumes", ()):
        claim = volume.get("persistentVolumeClaim", {}).get("claimName", "")
        if not claim or claim not in seen:
            kept.append(volume)
        seen.add(claim)
    own["spec"]["volumes"] = kept


def whole_bytes(cluster: Cluster, pod: str, node: str) -> None:
    """No container asks for a fraction of a byte (0239)."""
    for each in cluster["pods"]:
        for container in (*each["spec"]["containers"], *each["spec"].get("initContainers", ())):
            for asked in container.get("resources", {}).values():
                asked |= {name: str(amount(name, value)) for name, value in asked.items() if is_bytes(name)}


def attachments_dropped(cluster: Cluster, pod: str, node: str) -> None:
    """What the pod will use is not attached to the node yet; or, where all of it is, the node has no limits (0238)."""
    sources = {each["metadata"]["name"]: each["spec"].get("csi") for each in cluster.get("persistentvolumes", ())}
    wanted = [sources[name] for name in _volumes_of(cluster, _pod(cluster, pod)) if sources.get(name)]
    mine = [
        each
        for each in cluster.get("volumeattachments", ())
        if each["spec"]["nodeName"] == node and sources.get(each["spec"]["source"]["persistentVolumeName"]) in wanted
    ]
    attached = [sources[each["spec"]["source"]["persistentVolumeName"]] for each in mine]
    if mine and all(each in attached for each in wanted):
        cluster["csinodes"] = [each for each in cluster["csinodes"] if each["metadata"]["name"] != node]
    elif mine:
        cluster["volumeattachments"] = [each for each in cluster["volumeattachments"] if each not in mine]


def _volumes_of(cluster: Cluster, pod: Raw) -> set[str]:
    """Names of the volumes that the pod's claims name."""
    meta = pod["metadata"]
    names = {
        volume.get("persistentVolumeClaim", {}).get("claimName") or f"{meta['name']}-{volume['name']}"
        for volume in pod["spec"].get("volumes", ())
    }
    return {
        each["spec"].get("volumeName", "")
        for each in cluster.get("persistentvolumeclaims", ())
        if each["metadata"]["namespace"] == meta["namespace"] and each["metadata"]["name"] in names
    }


def _pod(cluster: Cluster, pod: str) -> Raw:
    return next(each for each in cluster["pods"] if named(each) == pod)


def named(pod: Raw) -> str:
    """Namespace and name, as answers name pods."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def asked_again(cluster: Cluster, pod: str, node: str) -> None:
    """Nothing is rewritten: among equal volumes kube-scheduler takes one at random (0238)."""


BY_CHANCE = 120
"""How often kube-scheduler is asked where chance decides its answer. It takes the right one of two equal volumes one
time in five (2,400 times asked), for the order in which Go walks a small map is not even."""


@dataclass(frozen=True, slots=True)
class Intended:
    """One intended difference: its reason code, how to rewrite the cluster, and by which words the node is refused.

    The words are plugins where kube-scheduler refuses, and Fairlead's reasons where Fairlead does. `times` is how
    often to ask about the rewritten cluster; once will do where the answer is always the same.
    """

    code: str
    rewrite: Callable[[Cluster, str, str], None]
    words: tuple[str, ...]
    times: int = 1


INTENDED = (
    Intended("ClosedNodesAreTainted", closed_nodes_tainted, ("NodeUnschedulable",)),
    Intended("NamespaceSelectorsOfAbsence", namespaces_named, ("TooNear", "NotNear", "InterPodAffinity")),
    # A claim that is named once may still have two volumes to choose from, of which chance takes the wrong one.
    Intended("ClaimsCountOnce", claims_counted_once, ("VolumeBinding",), times=BY_CHANCE),
    Intended("AttachedVolumesCountOnce", attachments_dropped, ("NodeVolumeLimits",)),
    Intended("WholeBytes", whole_bytes, ("InsufficientRoom",)),
    Intended("EqualVolumes", asked_again, ("NoVolumeThere", "NoStorageRoom", "VolumeBinding"), times=BY_CHANCE),
)


def explanations(cluster: Cluster, pod: str, node: str, word: str) -> Iterator[tuple[str, Cluster]]:
    """Codes of intended differences that may be the cause, each with the cluster rewritten for it.

    A cluster comes as often as it is to be asked about.
    """
    for each in INTENDED:
        if word in each.words:
            changed = copy.deepcopy(cluster)
            each.rewrite(changed, pod, node)
            if changed != cluster or each.rewrite is asked_again:
                yield from [(each.code, changed)] * each.times
