"""Binds of which nothing is known: the server may have acted, and did not say so.

Their room stays taken until the server tells, by a GET or by a newer word of the watch (`docs/decisions/0211`):

    unanswered ─► wait ─► GET ─┬─ on the node ─────────────► bound
         ▲                     ├─ on another, gone, replaced ─► refused: the room is given back
         └──── sent again ◄────┴─ on none: at first sent again to the same node, where its room is;
                                  after several rounds, and a minute in which no answer was under way, refused
"""

import asyncio
from collections.abc import Callable
from dataclasses import field
from itertools import count

from fairlead.dataclass import dataclass
from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError, KubeError
from fairlead.kube.objects.pod import Pod
from fairlead.kube.resources import PODS
from fairlead.kube.retry import Backoff
from fairlead.live.cluster.identity import Uid
from fairlead.live.cluster.records import PodRecord

ROUNDS = 3
"""Times that a bind without an answer is sent before its pod is decided anew."""
SETTLED = 60.0
"""Seconds after which the server no longer acts upon a request that was given up: its own limit for one."""
BACKOFF = Backoff(first=0.5, cap=15.0)
AT_ONCE = 8
"""GETs in flight: after an outage thousands may have to be asked about."""


@dataclass(slots=True, eq=False)
class Resolver:
    """`wanted` tells whether a bind is still waited for: the watch may tell first. `bind` sends it again.

    `on_bound` and `on_refused` are told what became of it.
    """

    client: Client
    wanted: Callable[[PodRecord, str], bool]
    bind: Callable[[PodRecord, str, int], None]
    on_bound: Callable[[PodRecord, str], None]
    on_refused: Callable[[PodRecord, str], None]
    _tasks: dict[Uid, asyncio.Task[None]] = field(default_factory=dict, init=False)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE), init=False)

    def __len__(self) -> int:
        return len(self._tasks)

    def ask(self, pod: PodRecord, node: str, unanswered: int) -> None:
        """Find out what became of a bind that had no answer so many times."""
        uid = pod.metadata.uid
        self.cancel(uid)
        task = self._tasks[uid] = asyncio.create_task(self._resolve(pod, node, unanswered))
        task.add_done_callback(lambda ended: self._ended(uid, ended))

    def cancel(self, uid: Uid) -> None:
        """Nothing needs to be known of this pod any more."""
        task = self._tasks.pop(uid, None)
        if task is not None:
            task.cancel()

    async def run(self) -> None:
        """Until cancelled; then nothing is asked any more."""
        try:
            await asyncio.Event().wait()
        finally:
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, uid: Uid, task: asyncio.Task[None]) -> None:
        if self._tasks.get(uid) is task:
            del self._tasks[uid]

    async def _resolve(self, pod: PodRecord, node: str, unanswered: int) -> None:
        clock = asyncio.get_running_loop().time
        since = clock()
        for asked in count(unanswered):
            await asyncio.sleep(BACKOFF.wait(asked, self.client.jitter))
            async with self._turns:
                if not self.wanted(pod, node):
                    return
                settled = clock() - since >= SETTLED
                try:
                    found = await self._read(pod)
                except KubeError:
                    continue
            if self._settled(pod, node, found, settled=settled, again=unanswered if unanswered < ROUNDS else 0):
                return

    async def _read(self, pod: PodRecord) -> Pod | None:
        """The pod as stored now; None where it is gone, or another one has its name."""
        try:
            found = await self.client.get(PODS, pod.metadata.name, namespace=pod.metadata.namespace)
        except ApiError as error:
            if not error.not_found:
                raise
            return None
        return found if found.metadata.uid == pod.metadata.uid else None

    def _settled(self, pod: PodRecord, node: str, found: Pod | None, *, settled: bool, again: int) -> bool:
        """Act on what the server says; False where it has to be asked again."""
        if not self.wanted(pod, node):
            return True
        if found is None:
            self.on_refused(pod, "the pod is gone")
        elif found.spec.node_name == node:
            # Its room stays taken: the watch will show it there.
            self.on_bound(pod, node)
        elif found.spec.node_name:
            self.on_refused(pod, f"the pod is on {found.spec.node_name}")
        elif again:
            self.bind(pod, node, again)
        elif settled:
            self.on_refused(pod, "the server did not act upon the bind")
        else:
            return False
        return True
