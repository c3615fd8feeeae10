"""CronJob: a demand that comes. Its pods are named and not placed: they are not there between two times."""

from fairlead.kube.adapters.adapted import Adapted, PodRole, Value, number, roles_of, spec_of


def adapt(value: Value) -> Adapted:
    """One role without replicas now, which says how many come and when."""
    spec = spec_of(value)
    job = spec_of(spec.get("jobTemplate") or {})
    pods = min(number(job.get("parallelism"), 1), number(job.get("completions"), 2**31))
    what = "1 pod comes" if pods == 1 else f"{pods} pods come"
    when = f"{what} at each time of its schedule, {spec.get('schedule')!r}"
    idle = "it is suspended" if spec.get("suspend") else when
    return Adapted(roles_of(value, [PodRole(name="", replicas=0, template=job.get("template") or {}, idle=idle)]))
