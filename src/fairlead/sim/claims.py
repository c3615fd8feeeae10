"""Replicas with volume claims while time goes by: which of them run, where their volumes are, and what is attached."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import count, islice

from fairlead.dataclass import dataclass
from fairlead.engine.working_volumes import WorkingVolumes
from fairlead.model.claims import ClaimDemand, WorkloadClaims, numbered


@dataclass(frozen=True, slots=True)
class SimReplica:
    """One replica of a workload with claims, by number; where it runs, it is on the node `row`."""

    workload: str
    namespace: str
    number: int
    demand: ClaimDemand
    row: int = -1


class SimClaims:
    """`volumes` follows what the claims got; a volume stays where it is when its replica goes."""

    def __init__(self, claims: Mapping[str, WorkloadClaims], volumes: WorkingVolumes) -> None:
        self._claims = claims
        self.volumes = volumes
        self._running: dict[str, set[int]] = defaultdict(set)
        self._batches: dict[int, SimReplica] = {}

    def __contains__(self, workload: str) -> bool:
        """Whether the workload (key) has claims that demand something."""
        return workload in self._claims

    def idle(self, workload: str, namespace: str, many: int) -> Iterator[SimReplica]:
        """The first so many replicas that do not run."""
        known, running = self._claims[workload], self._running[workload]
        for number in list(islice((each for each in count() if each not in running), many)):
            own = number < len(known.replicas)
            demand = known.replicas[number].demand if own else numbered(known.more, number - len(known.replicas))
            yield SimReplica(workload, namespace, number, demand)

    def began(self, batch: int, replica: SimReplica) -> None:
        """The replica is the batch of this number now."""
        self._batches[batch] = replica
        self._running[replica.workload].add(replica.number)

    def gone(self, batch: int) -> None:
        """The batch is gone from its node; its volumes stay."""
        replica = self._batches.pop(batch, None)
        if replica is not None:
            self._running[replica.workload].discard(replica.number)
            self.volumes.leave(replica.namespace, replica.demand, replica.row)
