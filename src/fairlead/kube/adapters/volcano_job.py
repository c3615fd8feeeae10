"""Volcano's Job (batch.volcano.sh): tasks that start together, at least `minAvailable` of them."""

from fairlead.kube.adapters.adapted import Adapted, PodRole, Value, number, roles_of, spec_of

ENDED = ("Completed", "Failed", "Terminated", "Aborted")


def adapt(value: Value) -> Adapted:
    """A role a task. Tasks that depend on others run beside them, so they count at once."""
    spec = spec_of(value)
    phase = ((value.get("status") or {}).get("state") or {}).get("phase", "")
    idle = f"it is {phase}" if phase in ENDED else ""
    roles = [
        PodRole(
            name=task.get("name") or f"default{row}",
            replicas=0 if idle else number(task.get("replicas"), 1),
            template=task.get("template") or {},
            least=task.get("minAvailable"),
            idle=idle,
        )
        for row, task in enumerate(spec.get("tasks") or ())
    ]
    whole = sum(each.replicas for each in roles)
    least = min(number(spec.get("minAvailable"), whole), whole)
    queue, priority = spec.get("queue") or "default", spec.get("priorityClassName") or ""
    later = [f"dependsOn of task {task.get('name')}" for task in spec.get("tasks") or () if task.get("dependsOn")]
    return Adapted(roles_of(value, roles, least=max(least, 1), queue=queue, priority=priority), tuple(later))
