"""What a waiting pod is told: one line, what stops it first, what would help last."""

from fairlead.live.scheduler.decide import Outcome
from fairlead.model.decision import Rejection
from fairlead.model.reasons import Cure

REASON = "Unschedulable"
"""The reason of the condition; autoscalers look for exactly this word."""

HELP = {
    Cure.ROOM: "more room would help",
    Cure.EVICTION: "replicas that end or move would help",
    Cure.EDIT: "a change of the pod or of the nodes would help",
    Cure.NOTHING: "",
}


def message(outcome: Outcome) -> str:
    """Such as `0/3 nodes can take this pod: 2 InsufficientRoom (n1, n2), 1 PortTaken (n3); more room would help`."""
    if not outcome.considered:
        return "0/0 nodes can take this pod: there are no nodes; a node would help"
    parts = ", ".join(_part(each) for each in outcome.rejected)
    helps = dict.fromkeys(HELP[each.reason.cure] for each in outcome.rejected)
    return f"0/{outcome.considered} nodes can take this pod: {parts}; {', or '.join(filter(None, helps))}"


def _part(rejection: Rejection) -> str:
    names = ", ".join(rejection.names)
    more = ", …" if rejection.count > len(rejection.names) else ""
    return f"{rejection.count} {rejection.reason.code} ({names}{more})"
