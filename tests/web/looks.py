"""Looks for tests: manifests as files, and what the page would show of them."""

from pathlib import Path

from fairlead.engine.plan import plan
from fairlead.kube.manifests.view import viewed
from fairlead.web.views import Look

ROOT = Path(__file__).parents[2]
SHOP = str(ROOT / "examples" / "shop")


def look_at(*sources: str | Path) -> Look:
    """The look of some files, with its plan."""
    found, view = viewed([str(each) for each in sources])
    return Look(title="test", found=found, view=view, decided=plan(view))


NODE = """\
apiVersion: v1
kind: Node
metadata: {{name: {name}, labels: {{topology.kubernetes.io/zone: {zone}}}}}
status: {{allocatable: {{cpu: "{cpu}", memory: 8Gi, pods: "10"}}, conditions: [{{type: Ready, status: "True"}}]}}
---
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: shop}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: c, resources: {{requests: {{cpu: "1"}}}}}}]}}
---
"""


def node(name: str, cpu: int = 4, zone: str = "a") -> str:
    """A node as YAML."""
    return NODE.format(name=name, cpu=cpu, zone=zone)


def deployment(name: str, replicas: int) -> str:
    """A deployment of one cpu a replica, as YAML."""
    return DEPLOYMENT.format(name=name, replicas=replicas)
