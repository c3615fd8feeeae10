"""Longhorn's objects as plain values, as the API has them, for tests of the storage component."""

from typing import Any

GIB = 2**30
NAMESPACE = "longhorn-system"
KIND = "longhorn.io/v1beta2"

Object = dict[str, Any]


def disk(name: str, usable_gib: int, *, maximum_gib: int | None = None, **status: Any) -> Object:
    """The status of a disk with `usable_gib` left; it is twice as large, so that Longhorn's limits are not met."""
    maximum = (maximum_gib if maximum_gib is not None else 2 * usable_gib) * GIB
    return {
        "diskUUID": f"uuid-{name}",
        "diskPath": f"/disks/{name}",
        "diskType": "filesystem",
        "storageAvailable": usable_gib * GIB,
        "storageMaximum": maximum,
        "storageScheduled": 0,
        "scheduledReplica": {},
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Schedulable", "status": "True"}],
        **status,
    }


def node(name: str, *, zone: str = "", namespace: str = NAMESPACE, spec: Object | None = None, **disks: int) -> Object:
    """A node that is ready; its disks by name with their usable GiB."""
    return {
        "apiVersion": KIND,
        "kind": "Node",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "name": name,
            "allowScheduling": True,
            "disks": {
                each: {"path": f"/disks/{name}-{each}", "diskType": "filesystem", "allowScheduling": True}
                for each in disks
            },
            **(spec or {}),
        },
        "status": {
            "zone": zone,
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "Schedulable", "status": "True"}],
            "diskStatus": {each: disk(f"{name}-{each}", usable) for each, usable in disks.items()},
        },
    }


def volume(name: str, size_gib: int, replicas: int = 1, *, namespace: str = NAMESPACE, **spec: Any) -> Object:
    """A volume that nobody has attached yet."""
    size = str(size_gib * GIB)
    return {
        "apiVersion": KIND,
        "kind": "Volume",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"size": size, "numberOfReplicas": replicas, "dataEngine": "v1", **spec},
    }


def replica(volume_: Object, number: int, where: str = "", **spec: Any) -> Object:
    """A Replica of a volume that waits, or sits on `node/disk`."""
    home, _, on = where.partition("/")
    placed = {"nodeID": home, "diskID": f"uuid-{home}-{on}", "diskPath": f"/disks/{home}-{on}"} if where else {}
    meta = volume_["metadata"]
    return {
        "apiVersion": KIND,
        "kind": "Replica",
        "metadata": {"name": f"{meta['name']}-r{number}", "namespace": meta["namespace"]},
        "spec": {
            "volumeName": meta["name"],
            "volumeSize": volume_["spec"]["size"],
            "dataEngine": "v1",
            **placed,
            **spec,
        },
    }


def setting(name: str, value: str, *, namespace: str = NAMESPACE) -> Object:
    return {"apiVersion": KIND, "kind": "Setting", "metadata": {"name": name, "namespace": namespace}, "value": value}


def place(found: Object) -> str:
    """`node/disk` of a Replica, empty while it waits."""
    spec = found["spec"]
    return (
        f"{spec['nodeID']}/{spec['diskID'].removeprefix('uuid-' + spec['nodeID'] + '-')}" if spec.get("nodeID") else ""
    )


def counted(node_: Object, replicas: list[Object]) -> Object:
    """The node as Longhorn makes it once it has seen its replicas: every disk counts those that name it."""
    status = {}
    for name, each in node_["status"]["diskStatus"].items():
        own = {
            one["metadata"]["name"]: int(one["spec"]["volumeSize"])
            for one in replicas
            if one["spec"].get("diskID") == each["diskUUID"]
        }
        status[name] = {**each, "scheduledReplica": own, "storageScheduled": sum(own.values())}
    return {**node_, "status": {**node_["status"], "diskStatus": status}}


def fleet(nodes: int, disks: int = 2, usable_gib: int = 400) -> list[Object]:
    """Nodes in three zones whose disks differ somewhat."""
    return [
        node(
            f"n{row}",
            zone=f"z{row % 3}",
            **{f"d{column}": usable_gib + 7 * row % 50 + 13 * column for column in range(disks)},
        )
        for row in range(nodes)
    ]


def waiting(count: int, each: int = 3, prefix: str = "v") -> list[Object]:
    """Volumes of some sizes, with their Replicas, which wait."""
    volumes = [volume(f"{prefix}{row}", 4 + row % 5, each) for row in range(count)]
    return [*volumes, *(replica(body, number) for body in volumes for number in range(1, each + 1))]
