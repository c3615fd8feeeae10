"""What keeps replicas from being created, before queues and nodes are asked: quotas, and what the plan cannot obey."""

from collections.abc import Iterable, Mapping, Sequence

from fairlead.dataclass import dataclass
from fairlead.engine import reasons
from fairlead.engine.tier_parts import TierSplit
from fairlead.model.reasons import Finding, because
from fairlead.model.snapshot import Site
from fairlead.model.workload import Workload


@dataclass(slots=True)
class QuotaLeft:
    """What is left of one quota."""

    name: str
    amounts: dict[str, int]

    def fits(self, request: Mapping[str, int]) -> int | None:
        """How many more replicas of this request it allows; None where it does not bound them."""
        bounds = [max(left, 0) // request[name] for name, left in self.amounts.items() if request.get(name)]
        return min(bounds, default=None)

    def take(self, request: Mapping[str, int], count: int) -> None:
        for name in self.amounts:
            self.amounts[name] -= request.get(name, 0) * count


def admitted(
    site: Site, splits: Sequence[TierSplit], turns: Iterable[int]
) -> tuple[list[list[int]], dict[int, Finding]]:
    """How many replicas of each part may be created, in the order of turns, and why not more of those cut short."""
    everybody = (*site.workloads, *(each.workload for each in site.daemons))
    return within(quotas_left(site, everybody), splits, turns)


def within(
    quotas: Mapping[str, Sequence[QuotaLeft]], splits: Sequence[TierSplit], turns: Iterable[int]
) -> tuple[list[list[int]], dict[int, Finding]]:
    """As `admitted`, within the quotas of each namespace, from which what is admitted is taken."""
    limits = [[part.need for part in split.parts] for split in splits]
    refusals: dict[int, Finding] = {}
    for row in turns:
        workload = splits[row].parts[0].workload
        asked = sum(limits[row])
        if workload.held and asked:
            limits[row] = [0] * len(limits[row])
            refusals[row] = because(reasons.HELD_BACK, why=workload.held)
            continue
        request = dict(workload.shape.request)
        for place in range(len(limits[row])):
            for quota in quotas.get(workload.namespace, ()):
                allowed = quota.fits(request)
                if allowed is not None and allowed < limits[row][place]:
                    limits[row][place] = allowed
                    refusals[row] = because(reasons.QUOTA_EXCEEDED, quota=quota.name, asked=asked)
            for quota in quotas.get(workload.namespace, ()):
                quota.take(request, limits[row][place])
    return limits, refusals


def quota_turns(splits: Sequence[TierSplit]) -> list[int]:
    """The order in which quotas are used up: higher priority first, then what must be on demand, then larger gangs."""

    def turn(row: int) -> tuple[int, bool, int]:
        workload = splits[row].parts[0].workload
        return -workload.priority, not splits[row].target, -workload.least_together

    return sorted(range(len(splits)), key=turn)


def quotas_left(site: Site, running: Iterable[Workload]) -> dict[str, list[QuotaLeft]]:
    """The quotas of each namespace without what runs of these workloads."""
    found: dict[str, list[QuotaLeft]] = {}
    for quota in site.quotas:
        found.setdefault(quota.namespace, []).append(QuotaLeft(quota.name, dict(quota.hard)))
    if not found:
        return found
    for workload in running:
        column = site.present.get(workload.key)
        if column is None:
            continue
        for left in found.get(workload.namespace, ()):
            left.take(dict(workload.shape.request), int(column.sum()))
    return found
