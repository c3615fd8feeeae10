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
from fairlead.kube.objects.meta import LabelSelector
from fairlead.model.selectors import CORDONED, NOT_READY, UNREACHABLE
from tools.oracle.clusters import NAME_LABEL, Cluster
from tools.oracle.draw import Raw
from tools.oracle.wishes import REQUIRED

NOWHERE = "no-namespace-of-this-name"


def closed_nodes_tainted(cluster: Cluster) -> None:
    """Cordoned and unready nodes carry the taint that the node lifecycle controller gives them (0236)."""
    for node in cluster.get("nodes", ()):
        keys = [CORDONED] if node.get("spec", {}).get("unschedulable") else []
        for condition in node.get("status", {}).get("conditions", ()):
            if condition["type"] == "Ready" and condition["status"] != "True":
                keys.append(NOT_READY if condition["status"] == "False" else UNREACHABLE)
        taints: list[Raw] = node.get("spec", {}).get("taints", [])
        there = {each["key"] for each in taints if each["effect"] == "NoSchedule"}
        if new := [{"key": key, "effect": "NoSchedule"} for key in keys if key not in there]:
            node.setdefault("spec", {})["taints"] = [*taints, *new]


def namespaces_named(cluster: Cluster) -> None:
    """Namespace selectors of waiting pods that accept a namespace without labels name their namespaces (0237)."""
    known = {each["metadata"]["namespace"]: {} for each in cluster.get("pods", ())}
    known |= {
        each["metadata"]["name"]: {**each["metadata"].get("labels", {}), NAME_LABEL: each["metadata"]["name"]}
        for each in cluster.get("namespaces", ())
    }
    for pod in cluster.get("pods", ()):
        if not pod["spec"].get("nodeName"):
            for term in _required(pod):
                _name_namespaces(term, known)


def _required(pod: Raw) -> Iterator[Raw]:
    affinity = pod["spec"].get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from (affinity.get(kind) or {}).get(REQUIRED) or ()


def _name_namespaces(term: Raw, known: Mapping[str, dict[str, str]]) -> None:
    chosen = selector(msgspec.convert(term.get("namespaceSelector"), LabelSelector | None))
    if chosen is None or not chosen.requirements or not chosen.selects({}):
        return
    named = {name for name, labels in known.items() if chosen.selects(labels)} | set(term.get("namespaces", ()))
    del term["namespaceSelector"]
    term["namespaces"] = sorted(named) or [NOWHERE]


def claims_counted_once(cluster: Cluster) -> None:
    """A claim that several volumes of a pod name is named by the first alone (0238)."""
    for pod in cluster.get("pods", ()):
        seen: set[str] = set()
        kept = []
        for volume in pod["spec"].get("volumes", ()):
            claim = volume.get("persistentVolumeClaim", {}).get("claimName", "")
            if not claim or claim not in seen:
                kept.append(volume)
            seen.add(claim)
        if "volumes" in pod["spec"]:
            pod["spec"]["volumes"] = kept


def volumes_not_translated(cluster: Cluster) -> None:
    """No node says that it has handed in-tree volumes over to a driver (0239)."""
    for node in cluster.get("csinodes", ()):
        node["metadata"].pop("annotations", None)


def asked_again(cluster: Cluster) -> None:
    """Nothing is rewritten: among equal volumes kube-scheduler takes one at random (0238)."""


@dataclass(frozen=True, slots=True)
class Intended:
    """One intended difference: its reason code, how to rewrite the cluster, and by which words the node is refused.

    The words are plugins where kube-scheduler refuses, and Fairlead's reasons where Fairlead does. `times` is how often to ask about the rewritten cluster; once will do where the answer is always the same.
    """

    code: str
    rewrite: Callable[[Cluster], None]
    words: tuple[str, ...]
    times: int = 1


INTENDED = (
    Intended(
        "ClosedNodesAreTainted",
        closed_nodes_tainted,
        ("NodeUnschedulable", "TaintNotTolerated", "TooUneven", "PodTopologySpread"),
    ),
    Intended("NamespaceSelectorsOfAbsence", namespaces_named, ("TooNear", "NotNear", "InterPodAffinity")),
    Intended("ClaimsCountOnce", claims_counted_once, ("VolumeBinding",)),
    Intended("VolumesAreNotTranslated", volumes_not_translated, ("VolumeElsewhere", "VolumeBinding")),
    Intended("EqualVolumes", asked_again, ("NoVolumeThere", "NoStorageRoom", "VolumeBinding"), times=30),
)


def rewritten(cluster: Cluster) -> Iterator[tuple[Intended, Cluster]]:
    """The cluster rewritten for each intended difference that it may show, as often as it is to be asked about."""
    for each in INTENDED:
        changed = copy.deepcopy(cluster)
        each.rewrite(changed)
        if changed != cluster or each.rewrite is asked_again:
            yield from [(each, changed)] * each.times
