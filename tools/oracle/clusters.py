"""A whole random cluster, from a seed and a number."""

from __future__ import annotations

from collections.abc import Collection

from tools.oracle.draw import Draw, Raw
from tools.oracle.nodes import csi_node, node
from tools.oracle.pods import bound, pod
from tools.oracle.storage import attachment, bind, claim, classes, drivers, namespaced_claims, rooms, volume
from tools.oracle.vocabulary import NAMESPACE_LABELS, NAMESPACES, THEMES

Cluster = dict[str, list[Raw]]
"""Objects by the plural of their kind."""
NAME_LABEL = "kubernetes.io/metadata.name"


def cluster(seed: str, themes: Collection[str] = THEMES) -> Cluster:
    """The cluster of this seed. It is about some of the themes, at least one."""
    draw = Draw(seed)
    about = draw.some(themes, min(4, len(themes)), 1)
    names = [f"n{number}" for number in range(draw.number(1, 6))]
    made: Cluster = {
        "namespaces": [_namespace(draw, name) for name in NAMESPACES if draw.chance(0.99)],
        "nodes": [node(draw, name, about) for name in names],
    }
    claims: list[str] = []
    if "volumes" in about or "limits" in about:
        claims = [f"claim{number}" for number in range(draw.number(1, 4))]
        made |= _storage(draw, claims, names, limits="limits" in about)
    waiting = [pod(draw, f"p{number}", about, names, claims) for number in range(draw.number(4, 9))]
    running = [pod(draw, f"q{number}", about, names, claims) for number in range(draw.number(0, 8))]
    made["pods"] = [*waiting, *(bound(draw, each, about, names) for each in running)]
    _own(draw, made)
    return made


def _namespace(draw: Draw, name: str) -> Raw:
    labels = {key: draw.one(values) for key, values in NAMESPACE_LABELS.items() if draw.chance(0.8)}
    return {"metadata": {"name": name, "labels": {**labels, NAME_LABEL: name}}}


def _storage(draw: Draw, claims: list[str], nodes: list[str], *, limits: bool) -> Cluster:
    made = namespaced_claims(draw, claims)
    volumes = [volume(draw, f"volume{number}", nodes, made) for number in range(draw.number(2, 12))]
    free = [each for each in volumes if "claimRef" not in each["spec"]]
    for one in made:
        if free and draw.chance(0.6):
            bind(draw, one, free.pop())
    return {
        "persistentvolumes": volumes,
        "persistentvolumeclaims": made,
        "storageclasses": classes(draw),
        "csinodes": [csi_node(draw, name, limits=limits) for name in nodes if draw.chance(0.9)],
        "csidrivers": drivers(draw),
        "csistoragecapacities": rooms(draw),
        "volumeattachments": [attachment(draw, f"a{number}", volumes, nodes) for number in range(draw.number(0, 3))],
    }


def _own(draw: Draw, made: Cluster) -> None:
    """Claims for the ephemeral volumes: mostly owned by their pod, sometimes by another, sometimes missing."""
    for each in made["pods"]:
        meta = each["metadata"]
        for one in each["spec"].get("volumes", ()):
            if "ephemeral" not in one or draw.chance(0.1):
                continue
            new = claim(draw, f"{meta['name']}-{one['name']}", meta["namespace"])
            # A pod that has its node had its own claims: only one that waits may find another's.
            uid = meta["uid"] if draw.chance(0.9) or each["spec"].get("nodeName") else "uid-of-another"
            owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": uid, "controller": True}
            new["metadata"]["ownerReferences"] = [owner]
            made.setdefault("persistentvolumeclaims", []).append(new)
