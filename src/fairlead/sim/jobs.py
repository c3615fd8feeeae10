"""One workload over time: what it asks for, what runs, and since when the rest waits."""

from dataclasses import replace

from fairlead.engine.shape_columns import needs_like
from fairlead.engine.tier_parts import TierSplit, parts, preferring
from fairlead.engine.working_nodes import Sparse
from fairlead.model.columns import Int
from fairlead.model.order import natural_key
from fairlead.model.tiers import Tiers
from fairlead.model.workload import Workload
from fairlead.sim.cluster import Batch
from fairlead.sim.events import Arrival
from fairlead.sim.policy import SimPolicy

Key = tuple[int, int, object]


class SimJob:
    """Counts of replicas: `asked` for now, `running`, `required` of these that must stay on demand."""

    def __init__(
        self,
        arrival: Arrival,
        policy: SimPolicy,
        tiers: Tiers,
        vector: Int,
        amounts: Sparse,
        *,
        claimed: bool = False,
    ) -> None:
        """`vector` and `amounts` are what a replica asks for, the latter without what is 0."""
        self.workload = _wished(arrival, policy, tiers)
        self.key = self.workload.title
        self.pair = (self.workload.queue, self.workload.namespace)
        self.duration_ms = arrival.duration_ms
        self.vector, self.amounts = vector, amounts
        self.asked = 0
        self.running = 0
        self.required = 0
        self.batches: dict[int, Batch] = {}
        self.evicted = 0
        """Replicas lost and not yet running again."""
        self.ended = 0
        """Replicas that have run to their end."""
        self.claimed = claimed
        """Whether its replicas are told apart by their volume claims."""
        self.needs = None if self.workload.tiered or claimed else needs_like(self.workload.shape)
        """What decides whether a node takes it, where that is one thing for all its replicas."""
        self.limits: dict[str, int] | None = None
        """How many replicas more of each tier may be created; None where nothing bounds them."""
        # What has no time is younger than all that has.
        created, called = self.workload.created, self.workload.gang or self.workload.title
        self._age = not created, created, natural_key(called), self.workload.kind
        self._tiers = tiers
        self._since: list[list[int]] = []

    @property
    def lacking(self) -> int:
        """Replicas asked for that do not run."""
        return max(self.asked - self.running, 0)

    @property
    def least(self) -> int:
        """How many start together; replicas that have run to their end are no longer waited for."""
        return max(self.workload.least_together - self.ended, 1)

    @property
    def since(self) -> int:
        """When the first of those that wait began to."""
        return self._since[0][0] if self._since else 0

    @property
    def turn(self) -> Key:
        """Higher priority first, then the longest wait, then the oldest, then by name, as in a plan."""
        return -self.workload.priority, self.since, self._age

    def split(self) -> TierSplit:
        """What is lacking and may be created, by tier."""
        found, limits = self.wanted(), self.limits
        if limits is None:
            return found
        bounded = (replace(part, need=min(part.need, limits.get(part.tier, 0))) for part in found.parts)
        return replace(found, parts=tuple(bounded))

    @property
    def bounded(self) -> bool:
        """Whether fewer may be created than are lacking."""
        return self.limits is not None and sum(self.limits.values()) < self.lacking

    def wanted(self) -> TierSplit:
        """What is lacking, by tier."""
        return parts(self.workload, self.asked, self.running, self.required, self._tiers)

    def tier_now(self, batch: Batch) -> str:
        """The part that a batch counts to: where tiers gained or lost their say since it started, the last one."""
        tiers = [part.tier for part in self.wanted().parts]
        return batch.part.tier if batch.part.tier in tiers else tiers[-1]

    def wait(self, now: int, count: int) -> None:
        """`count` more replicas wait from now on."""
        if count > 0:
            self._since.append([now, count])

    def start(self, now: int, count: int) -> list[tuple[int, int]]:
        """`count` replicas start, those that waited longest first: (waited, how many)."""
        waits = []
        while count and self._since:
            since, waiting = self._since[0]
            taken = min(count, waiting)
            waits.append((now - since, taken))
            count -= taken
            if taken == waiting:
                self._since.pop(0)
            else:
                self._since[0][1] -= taken
        return waits

    def give_up(self, count: int) -> None:
        """`count` replicas are no longer asked for: those that wait shortest."""
        while count > 0 and self._since:
            taken = min(count, self._since[-1][1])
            self._since[-1][1] -= taken
            count -= taken
            if not self._since[-1][1]:
                self._since.pop()

    def holds(self, batch: Batch, count: int, sign: int) -> None:
        """Follow replicas of a batch that start (+) or are gone (−)."""
        self.running += sign * count
        if batch.part.tier == "on-demand":
            self.required += sign * count


def _wished(arrival: Arrival, policy: SimPolicy, tiers: Tiers) -> Workload:
    """The workload as this policy treats it."""
    workload = arrival.workload
    if workload.strategy != policy.strategy:
        workload = replace(workload, strategy=policy.strategy)
    if not policy.tiers:
        return replace(workload, tiered=False, min_available=None)
    if arrival.tier == "on-demand" and tiers.present:
        return replace(workload, shape=workload.shape.requiring(*tiers.on_demand))
    if arrival.tier == "spot":
        return replace(workload, shape=preferring(workload.shape, tiers))
    return workload
