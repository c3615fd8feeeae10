"""What is asked for and held by each queue and namespace, and what the queue level is shown of it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.engine.queueing import DEFAULT
from fairlead.levels.queue.share import share
from fairlead.model.columns import Int
from fairlead.model.nodestate import NodeState
from fairlead.model.queuestate import Amounts, QueueEntry, QueueState
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
        self.asked: dict[Pair, Int] = {}
        self._asked_in_all: Int = np.zeros(len(resources), dtype=np.int64)
        self.held: dict[Pair, Int] = {}
        self._plain = not any(queue.parent or queue.guarantee or queue.deserved or not queue.open for queue in queues)
        self._known = {queue.name for queue in queues} | {DEFAULT, ""}
        self._limits = [
            (queue.name, np.array([queue.capability.get(name, -1) for name in resources], dtype=np.int64))
            for queue in queues
            if queue.capability
        ]

    def ask(self, job: SimJob, count: int) -> None:
        """`count` more (or less) replicas are asked for."""
        more = count * job.vector
        self._asked_in_all = self._asked_in_all + more
        before = self.asked.get(job.pair)
        self.asked[job.pair] = more if before is None else before + more

    def hold(self, job: SimJob, count: int) -> None:
        """`count` more (or less) replicas run."""
        more = count * job.vector
        before = self.held.get(job.pair)
        self.held[job.pair] = more if before is None else before + more

    def enough(self, whole: Int) -> bool:
        """Whether there is enough for all that is asked: then everybody may start, and no order matters."""
        if not self._plain or any(queue not in self._known for queue, _ in self.asked):
            return False
        for name, limit in self._limits:
            own = [asked for (queue, _), asked in self.asked.items() if (queue or DEFAULT) == name]
            total = np.sum(own, axis=0) if own else self._nothing()
            if bool(((limit >= 0) & (total > limit)).any()):
                return False
        return bool((self._asked_in_all <= whole).all()) if self.asked else True

    def state(self, jobs: Sequence[tuple[SimJob, Sequence[SimRole]]], whole: Int) -> QueueState:
        """The tables with these jobs, in order of age, and what others have and wait for."""
        held, asked = dict(self.held), dict(self.asked)
        shown: dict[tuple[Pair, int], tuple[Int, int, int]] = {}
        for job, _ in jobs:  # jobs that ask for the same share their vector
            _, run, want = shown.get(alike := (job.pair, id(job.vector)), (job.vector, 0, 0))
            shown[alike] = job.vector, run + job.running, want + max(job.asked, job.running)
        for (pair, _), (vector, run, want) in shown.items():
            if run:
                held[pair] = held[pair] - run * vector
            asked[pair] = asked[pair] - want * vector
        nothing = self._nothing()
        rest = {pair: np.maximum(own - held.get(pair, nothing), 0) for pair, own in asked.items()}
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
        total = sum((held for pair, held in self.held.items() if (pair[place] or DEFAULT) == name), self._nothing())
        return dict(zip(self.resources, total.tolist(), strict=True))

    def _nothing(self) -> Int:
        return np.zeros(len(self.resources), dtype=np.int64)
