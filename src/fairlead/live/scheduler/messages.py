"""What a waiting pod is told: one line, what stops it first, what would help last."""

from typing import Any

from fairlead.levels.queue.reasons import NODES_FULL
from fairlead.live.cluster.pod_sets import PodSetOutcome
from fairlead.live.cluster.records import PodRecord
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

STAGE_HELP = {**HELP, Cure.EDIT: "a change of the queue, the group or the pod would help"}


def message(outcome: PodSetOutcome) -> str:
    """Such as `0/3 nodes can take this pod: 2 InsufficientRoom (n1, n2), 1 PortTaken (n3); more room would help`.

    Where the queue level stops it, that stage comes first; nodes follow where none would take it either.
    """
    if outcome.finding is None or outcome.finding.code == NODES_FULL.code:
        return _nodes(outcome)
    stage = f"{outcome.finding.code}: {outcome.finding.sentence}"
    return f"{stage}; {_nodes(outcome) if outcome.rejected else STAGE_HELP[outcome.finding.reason.cure]}"


def pod_message(pod: PodRecord, text: str) -> str:
    """What is said to one pod: the text, and the field of it that is not obeyed (docs/decisions/0283)."""
    field = pod.queue_fields.not_obeyed
    return f"{text}; {field} is not obeyed" if field else text


def _nodes(outcome: PodSetOutcome) -> str:
    if not outcome.considered:
        return "0/0 nodes can take this pod: there are no nodes; a node would help"
    if not outcome.rejected and outcome.finding is not None:
        return f"{outcome.finding.code}: {outcome.finding.sentence}; {STAGE_HELP[outcome.finding.reason.cure]}"
    parts = ", ".join(_part(each) for each in outcome.rejected)
    helps = dict.fromkeys(HELP[each.reason.cure] for each in outcome.rejected)
    return f"0/{outcome.considered} nodes can take this pod: {parts}; {', or '.join(filter(None, helps))}"


def summary(outcome: PodSetOutcome) -> str:
    """Such as `5 of 12 replicas placed on 2 nodes; the others wait: 0/3 nodes can take …`."""
    nodes = len({node for _, node in outcome.placed})
    where = f" on {nodes} node{'s' * (nodes != 1)}" if nodes else ""
    text = f"{len(outcome.placed)} of {len(outcome.group.pods)} replicas placed{where}"
    return f"{text}; the others wait: {message(outcome)}" if outcome.waiting else text


def _part(rejection: Rejection) -> str:
    names = ", ".join(rejection.names)
    more = ", …" if rejection.count > len(rejection.names) else ""
    return f"{rejection.count} {rejection.reason.code} ({names}{more})"


def explanation(pod: PodRecord, assumed: str, outcome: PodSetOutcome | None) -> dict[str, Any]:
    """A pod's state as a record: where it is, or how many nodes refuse it for which reason."""
    record: dict[str, Any] = {
        "pod": "/".join(pod.key),
        "controller": pod.controller,
        "scheduler": pod.scheduler,
        "state": _state(pod, assumed),
        "node": pod.node or assumed or None,
    }
    if pod.broken:
        record["message"] = pod.broken
    elif outcome is not None and pod.waits and not assumed:
        record["message"] = pod_message(pod, message(outcome))
        record["considered"] = outcome.considered
        record["rejected"] = [
            {
                "code": each.reason.code,
                "sentence": each.reason.sentence,
                "cure": each.reason.cure.value,
                "count": each.count,
                "names": list(each.names),
            }
            for each in outcome.rejected
        ]
    return record


def _state(pod: PodRecord, assumed: str) -> str:
    if pod.finished:
        return "finished"
    if pod.node:
        return "bound"
    if assumed:
        return "binding"
    return "waiting" if pod.waits else "held back"
