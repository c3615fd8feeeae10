"""Kubeflow's PyTorchJob (kubeflow.org) and TrainJob (trainer.kubeflow.org): roles that start together."""

from typing import Any

from fairlead.kube.adapters.adapted import Adapted, PodRole, Value, number, roles_of, spec_of


def adapt(value: Value) -> Adapted:
    """A role a replica type, or the nodes of a trainer."""
    return _train_job(value) if value["kind"] == "TrainJob" else _pytorch_job(value)


def _pytorch_job(value: Value) -> Adapted:
    spec = spec_of(value)
    policy = spec.get("runPolicy") or {}
    gang = policy.get("schedulingPolicy") or {}
    idle = "it is suspended" if policy.get("suspend") else ""
    roles = [
        PodRole(
            name=kind.lower(),
            replicas=0 if idle else number(each.get("replicas"), 1),
            template=each.get("template") or {},
            idle=idle,
        )
        for kind, each in (spec.get("pytorchReplicaSpecs") or {}).items()
    ]
    whole = sum(each.replicas for each in roles)
    least = max(min(number(gang.get("minAvailable"), whole), whole), 1)
    return Adapted(
        roles_of(value, roles, least=least, queue=gang.get("queue") or "", priority=gang.get("priorityClass") or "")
    )


def _train_job(value: Value) -> Adapted:
    """The pods' template is that of a runtime, which is another object: only what the job itself says counts."""
    spec = spec_of(value)
    trainer = spec.get("trainer") or {}
    container: dict[str, Any] = {"name": "trainer", "resources": trainer.get("resourcesPerNode") or {}}
    idle = "it is suspended" if spec.get("suspend") else ""
    nodes = 0 if idle else max(number(trainer.get("numNodes"), 1), 1)
    role = PodRole(name="node", replicas=nodes, template={"spec": {"containers": [container]}}, idle=idle)
    runtime = (spec.get("runtimeRef") or {}).get("name", "")
    return Adapted(roles_of(value, [role], least=max(nodes, 1)), (f"the pod template of runtime {runtime}",))
