"""A tier decision as sentences."""

from fairlead.levels.tier.split import Split, TierVerdict
from fairlead.model.reasons import Cure

_HEADS = {
    TierVerdict.ON_DEMAND: "must run on an on-demand node",
    TierVerdict.SPOT: "may run anywhere and prefers spot nodes",
    TierVerdict.UNMANAGED: "is left as it is",
    TierVerdict.RETRY: "is not admitted now",
}
_CHANGE = {
    TierVerdict.SPOT: "A higher min-available, or a slot given up, would put the next one on on-demand nodes.",
    TierVerdict.ON_DEMAND: "With more slots held, or a lower min-available, it would prefer spot nodes.",
    TierVerdict.RETRY: "It is admitted as soon as the replicas that were granted slots appear, or their grants expire.",
}


def lines(decision: Split) -> tuple[str, ...]:
    """What happens to the replica, why, what to look after, and what would change it."""
    result = [f"The replica {_HEADS[decision.verdict]}: {decision.rule.sentence}."]
    result += [f"Note: {warning.sentence}." for warning in decision.warnings if warning != decision.rule]
    if decision.verdict in _CHANGE and not decision.selector:
        result.append(_CHANGE[decision.verdict])
    elif decision.rule.reason.cure is Cure.EDIT:
        result.append("Editing the workload would change this.")
    return tuple(result)
