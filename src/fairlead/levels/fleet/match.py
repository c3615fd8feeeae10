"""Whether one cluster suits a policy: labels, fields, names, taints."""

from collections.abc import Callable, Mapping, Sequence

from fairlead.model.clusters import Traits
from fairlead.model.division import Expression, FleetAffinity
from fairlead.model.selectors import Taint, Toleration


def suits(affinity: FleetAffinity, name: str, traits: Traits) -> bool:
    """Whether the cluster is one the affinity asks for. Excluded names lose against nothing: they are always out."""
    if name in affinity.exclude or (affinity.names and name not in affinity.names):
        return False
    if any(traits.labels.get(key) != value for key, value in affinity.labels.items()):
        return False
    if not all(_label_holds(expression, traits.labels) for expression in affinity.expressions):
        return False
    return all(_field_holds(expression, traits) for expression in affinity.fields)


def untolerated(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    """The first taint that keeps the workload away."""
    for taint in taints:
        if taint.repels and not any(toleration.tolerates(taint) for toleration in tolerations):
            return taint
    return None


def _label_holds(expression: Expression, labels: Mapping[str, str]) -> bool:
    value = labels.get(expression.key)
    return _OPERATORS[expression.operator](None if value is None else (value,), expression.values)


def _field_holds(expression: Expression, traits: Traits) -> bool:
    found = {"region": (traits.region,), "provider": (traits.provider,), "zone": traits.zones}[expression.key]
    return _OPERATORS[expression.operator](tuple(value for value in found if value) or None, expression.values)


_Found = tuple[str, ...] | None
_OPERATORS: dict[str, Callable[[_Found, tuple[str, ...]], bool]] = {
    # Several zones: `In` wants every one of them listed, `NotIn` none, as Karmada reads it.
    "In": lambda found, values: found is not None and all(value in values for value in found),
    "NotIn": lambda found, values: found is None or not any(value in values for value in found),
    "Exists": lambda found, values: found is not None,
    "DoesNotExist": lambda found, values: found is None,
    "Gt": lambda found, values: _compare(found, values) > 0,
    "Lt": lambda found, values: _compare(found, values) < 0,
}
OPERATORS = tuple(_OPERATORS)


def _compare(found: _Found, values: tuple[str, ...]) -> int:
    """Sign of (label − value) for whole numbers; 0, which satisfies neither, where one of them is none."""
    try:
        ours, theirs = int(found[0]) if found else None, int(values[0])
    except (ValueError, IndexError):
        return 0
    return 0 if ours is None else (ours > theirs) - (ours < theirs)
