"""What is asked for and held by each queue and namespace, and what the queue level is shown of it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import le

from fairlead.dataclass import dataclass
from fairlead.engine.queueing import DEFAULT
from fairlead.engine.working_nodes import Sparse
from fairlead.levels.queue.share import share
from fairlead.model.amounts import WHOLE
from fairlead.model.columns import Int
from fairlead.model.nodestate import NodeState
from fairlead.model.queuestate import Amounts, QueueEntry, QueueState
from fairlead.sim.cluster import add
from fairlead.sim.jobs import SimJob
from fairlead.sim.tables import Pair, SimRole, SimTables


@dataclass(frozen=True, slots=True)
class Standing:
    """What a queue or namespace (`kind`) has and deserves."""

    kind: str
    name: str
    used: Amounts
    deserved: Amounts


class SimTurns:
    """Keeps what is asked for and held, by queue and namespace."""

    def __init__(
        self, nodes: NodeState, queues: Sequence[QueueEntry], weights: Mapping[str, int], namespaces: Iterable[str]
    ) -> None:
        self.resources = resources = nodes.resources
        self.weights = weights
        self._tables = SimTables(nodes, queues, weights, namespaces)
        self.asked: dict[Pair, list[int]] = {}
        self._asked_in_all = [0] * len(resources)
        self.held: dict[Pair, list[int]] = {}
        self.touched: set[str] = set()
        """Namespaces of which something was asked for, given up, started or gone since quotas were looked at."""
        self._plain = not any(queue.parent or queue.guarantee or queue.deserved or not queue.open for queue in queues)
        self._known = {queue.name for queue in queues} | {DEFAULT, ""}
        self._limits = [
            (queue.name, [queue.capability.get(name, -1) for name in resources]) for queue in queues if queue.capability
        ]

    def ask(self, job: SimJob, count: int) -> None:
        """`count` more (or less) replicas are asked for."""
        self.touched.add(job.pair[1])
        add(self._asked_in_all, job.amounts, count)
        add(self._of(self.asked, job.pair), job.amounts, count)

    def hold(self, job: SimJob, count: int) -> None:
        """`count` more (or less) replicas run."""
        self.touched.add(job.pair[1])
        add(self._of(self.held, job.pair), job.amounts, count)

    def _of(self, sums: dict[Pair, list[int]], pair: Pair) -> list[int]:
        found = sums.get(pair)
        if found is None:
            found = sums[pair] = [0] * len(self.resources)
        return found

    def enough(self, whole: Int) -> bool:
        """Whether there is enough for all that is asked: then every job may start, and no order matters."""
        if not self._plain or any(queue not in self._known for queue, _ in self.asked):
            return False
        for name, limit in self._limits:
            own = [asked for (queue, _), asked in self.asked.items() if (queue or DEFAULT) == name]
            if any(0 <= most < sum(asked) for most, *asked in zip(limit, *own, strict=True)):
                return False
        return all(map(le, self._asked_in_all, whole.tolist())) if self.asked else True

    def state(self, jobs: Sequence[tuple[SimJob, Sequence[SimRole]]], whole: Int) -> QueueState:
        """The tables with these jobs, in order of age, and what others have and wait for."""
        held, asked = ({pair: list(own) for pair, own in sums.items()} for sums in (self.held, self.asked))
        shown: dict[tuple[Pair, int], tuple[Sparse, int, int]] = {}
        for job, _ in jobs:  # jobs that ask for the same share their amounts
            _, run, want = shown.get(alike := (job.pair, id(job.amounts)), (job.amounts, 0, 0))
            shown[alike] = job.amounts, run + job.running, want + max(job.asked, job.running)
        for (pair, _), (amounts, run, want) in shown.items():
            if run:
                add(held[pair], amounts, -run)
            add(asked[pair], amounts, -want)
        nothing = [0] * len(self.resources)
        rest = {
            pair: [min(max(more - has, 0), WHOLE) for more, has in zip(own, held.get(pair, nothing), strict=True)]
            for pair, own in asked.items()
        }
        return self._tables.state(jobs, held, rest, whole)

    def standing(self, whole: Int) -> list[Standing]:
        """What each queue that is asked for anything, and each namespace, has and deserves."""
        state = self.state((), whole)
        sharing = share(state.jobs, state.queues, state.namespaces, state.whole)
        fair: dict[str, Counter[str]] = {}
        for space in sharing.namespaces:
            fair.setdefault(space.namespace, Counter()).update(space.fair)
        queues = [
            Standing("queue", row.name, self._holds(0, row.name), row.deserved)
            for row in sharing.queues
            if any(row.requested.values())
        ]
        return [*queues, *(Standing("namespace", name, self._holds(1, name), own) for name, own in fair.items())]

    def _holds(self, place: int, name: str) -> Amounts:
        """What is held by all pairs of a queue (place 0) or namespace (place 1)."""
        total = [0] * len(self.resources)
        for pair, held in self.held.items():
            if (pair[place] or DEFAULT) == name:
                add(total, enumerate(held))
        return dict(zip(self.resources, total, strict=True))
