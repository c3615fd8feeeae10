"""Small clusters as manifests, and what the commands say about them."""

import json
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner, Result

from fairlead.cli.main import cli

ZONE = "topology.kubernetes.io/zone"


def node(name: str, cpu: str = "4", zone: str = "", **spec: Any) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name, **({ZONE: zone} if zone else {})}
    room = {"cpu": cpu, "memory": "16Gi", "pods": "110"}
    meta = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec, "status": {"allocatable": room}}


def template(name: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container], **spec}}


def keeper(kind: str, name: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    """A Deployment, StatefulSet or DaemonSet of the namespace `shop`."""
    pods = template(name, cpu, **spec.pop("pods", {}))
    selector = {"matchLabels": {"app": name}}
    meta = {"name": name, "namespace": "shop"}
    body = {"selector": selector, "template": pods, **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": body}


def pod(name: str, on: str, owner: str = "", cpu: str = "1", **more: Any) -> dict[str, Any]:
    """A pod on a node; `owner` is KIND/NAME."""
    kind, _, called = owner.partition("/")
    group = "v1" if kind == "Node" else "apps/v1"
    owners = [{"apiVersion": group, "kind": kind, "name": called, "uid": called, "controller": True}] if owner else []
    made = template(called or name, cpu, **more.pop("spec", {}))
    meta = {**made["metadata"], "name": name, "namespace": "shop", "ownerReferences": owners, **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**made["spec"], "nodeName": on}}


class Folder:
    """A file of manifests, and the commands on it."""

    def __init__(self, path: Path, *objects: dict[str, Any]) -> None:
        self.file = path / "cluster.yaml"
        self.file.write_text(yaml.safe_dump_all(objects))

    def run(self, command: str, *options: str) -> Result:
        return CliRunner().invoke(cli, [command, "-f", str(self.file), *options], standalone_mode=False)

    def plan(self, *options: str) -> dict[str, Any]:
        """The record of the plan; of the changed one, where the options change the cluster."""
        result = self.run("plan", "-o", "json", *options)
        if result.exception:
            raise result.exception
        record: dict[str, Any] = json.loads(result.stdout)
        return record.get("plan", record)

    def placed(self, *options: str) -> dict[str, dict[str, int]]:
        """New replicas by workload and node."""
        found: dict[str, dict[str, int]] = {}
        for site in self.plan(*options)["sites"]:
            for each in site["workloads"]:
                own = found.setdefault(each["workload"], {})
                for part in each["parts"]:
                    own.update(part["placements"])
        return found

    def waits(self, *options: str) -> int:
        """Replicas without a place."""
        return int(self.plan(*options)["unplaced"])
