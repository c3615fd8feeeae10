"""Manifests for `fairlead share`: queues, pod groups, pods, quotas and nodes as tables."""

from time import time
from typing import TYPE_CHECKING, Any

from fairlead.dataclass import dataclass

if TYPE_CHECKING:
    from fairlead.kube.manifests.catalogue import Catalogue
    from fairlead.kube.manifests.queue import QueueManifests
    from fairlead.levels.queue.result import Sharing
    from fairlead.model.queuestate import QueueState


@dataclass(frozen=True, slots=True)
class ManifestShare:
    """A cluster and what may be done to it."""

    given: "QueueManifests"
    preempt: bool
    reserve_after: int | None


def problem_of(
    found: "Catalogue", source: str, preempt: bool = False, reserve_after: int | None = None, *, planned: bool = False
) -> ManifestShare:
    """The problem that objects pose; `source` says where they are from, `planned` is that of `queue_of`."""
    from fairlead.kube.manifests.queue import queue_of
    from fairlead.model.errors import InputError

    try:
        given = queue_of(found, planned=planned)
    except InputError as error:
        raise InputError(error.path or source, error.message) from None
    return ManifestShare(given, preempt, reserve_after)


def solve(problem: ManifestShare) -> "Sharing":
    """The decision, with waiting times counted to this moment."""
    from fairlead.engine.site_fits import SiteFits
    from fairlead.engine.working_nodes import WorkingNodes
    from fairlead.levels.queue.share import SharePolicy
    from fairlead.problems.share import solve_state

    given = problem.given
    policy = SharePolicy(preempt=problem.preempt, reserve_after=problem.reserve_after)
    fits = None
    if given.nodes is not None:
        fits = SiteFits(WorkingNodes(given.nodes, given.population), given.roles)
    return solve_state(given.state, policy, int(time()), fits)


def answer(problem: ManifestShare, decision: "Sharing") -> dict[str, Any]:
    """As for a problem in JSON; evictions name their pods, and new replicas their nodes."""
    from fairlead.problems.share import record

    result = record(decision, preempt=problem.preempt)
    for row, victim in zip(result.get("evictions", ()), decision.victims, strict=False):
        row["pods"] = list(problem.given.state.running.names[victim.row][: victim.count])
    if problem.given.state.room is not None:
        result["nodes"] = _nodes(problem.given.state, decision)
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
