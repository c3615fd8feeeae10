"""Manifests for `fairlead share`: queues, pod groups, pods, quotas and nodes as tables."""

from dataclasses import dataclass
from time import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairlead.kube.manifests.catalogue import Catalogue
    from fairlead.levels.queue.result import Sharing
    from fairlead.model.queuestate import QueueState


@dataclass(frozen=True, slots=True)
class ManifestShare:
    """A cluster and what may be done to it."""

    state: "QueueState"
    preempt: bool
    reserve_after: int | None


PROBLEM = ManifestShare


def asked_for(source: str, raw: bytes | None, preempt: bool, reserve_after: int | None) -> ManifestShare:
    """The problem that the manifests pose; `raw` is the text of `source` if it is read already. Errors end it."""
    from fairlead.kube.manifests.catalogue import catalogue
    from fairlead.kube.manifests.load import Manifest, parse_manifests, read_manifests
    from fairlead.model.errors import InputError

    if raw is None:
        manifests, errors = read_manifests([source])
    else:
        parsed = list(parse_manifests(raw, source))
        manifests = [each for each in parsed if isinstance(each, Manifest)]
        errors = [each for each in parsed if isinstance(each, InputError)]
    found = catalogue(manifests)
    for error in (*errors, *found.errors):
        raise error
    return problem_of(found, source, preempt, reserve_after)


def problem_of(
    found: "Catalogue", source: str, preempt: bool = False, reserve_after: int | None = None
) -> ManifestShare:
    """The problem that objects pose; `source` says where they are from."""
    from fairlead.kube.manifests.queue import queue_state_of
    from fairlead.model.errors import InputError

    try:
        state = queue_state_of(found)
    except InputError as error:
        raise InputError(error.path or source, error.message) from None
    return ManifestShare(state, preempt, reserve_after)


def solve(problem: ManifestShare) -> "Sharing":
    """The decision, with waiting times counted to this moment."""
    from fairlead.levels.queue.share import SharePolicy
    from fairlead.problems.share import solve_state

    policy = SharePolicy(preempt=problem.preempt, reserve_after=problem.reserve_after)
    return solve_state(problem.state, policy, int(time()))


def answer(problem: ManifestShare, decision: "Sharing") -> dict[str, Any]:
    """As for a problem in JSON; evictions name their pods, and new replicas their nodes."""
    from fairlead.problems.share import record

    result = record(decision, preempt=problem.preempt)
    for row, victim in zip(result.get("evictions", ()), decision.victims, strict=False):
        row["pods"] = list(problem.state.running.names[victim.row][: victim.count])
    if problem.state.room is not None:
        result["nodes"] = _nodes(problem.state, decision)
    return result


def _nodes(state: "QueueState", decision: "Sharing") -> dict[str, dict[str, int]]:
    """Job → node → new replicas that fit there."""
    assert state.room is not None  # asked only where there are nodes
    found: dict[str, dict[str, int]] = {}
    for role, spots in decision.spots.items():
        nodes = found.setdefault(state.jobs.names[int(state.jobs.role_job[role])], {})
        for node, count in spots.items():
            nodes[state.room.names[node]] = nodes.get(state.room.names[node], 0) + count
    return {job: nodes for job, nodes in found.items() if nodes}
