"""The tiers that the webhook goes by: set by its configuration, or shown by the nodes and remembered.

A preset that a node ever showed stays, so that a spot pool that scales to zero changes nothing. It is kept in a
ConfigMap of the webhook's own namespace, one key a preset, to which replicas only ever add (docs/decisions/0260).
"""

import asyncio

import structlog

from fairlead.kube.changes import Change, SetAside
from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError, KubeError
from fairlead.kube.objects.tier import LabelledNode
from fairlead.kube.resources import CONFIG_MAPS, NODES
from fairlead.kube.watch import Reflector
from fairlead.levels.tier.presets import DETECTED, NAMES, TierChoice, detected
from fairlead.levels.tier.split import Policy, policy_of
from fairlead.model.tiers import Tiers

CONFIG_MAP = "fairlead-tiers"
AGAIN_SECONDS = 60.0
"""How long after a failure it is tried again to remember what was detected."""

log = structlog.get_logger("webhook")


class LiveTiers:
    """`now` is what decisions go by. Before any node is seen it is the configured label, or the seed's."""

    def __init__(self, choice: TierChoice = DETECTED) -> None:
        self.choice = choice
        self.now: Tiers = choice.tiers(None)
        self.known: set[str] = set()
        """Presets that the cluster showed, now or before."""
        self._nodes = False

    @property
    def policy(self) -> Policy:
        """What the tiers mean to the level."""
        return policy_of(self.now)

    def recall(self, names: set[str]) -> None:
        """The cluster showed these presets before."""
        self.known |= names
        self._settle()

    def saw(self, labels: dict[str, str]) -> None:
        """The cluster has a node with these labels."""
        names = set(detected(labels))
        if not self._nodes or not names <= self.known:
            self._nodes = True
            self.recall(names)

    def _settle(self) -> None:
        self.now = self.choice.tiers(() if self._nodes else None, self.known)


class TierWatch:
    """Follows the labels of the nodes, and keeps `tiers` and the ConfigMap up to date."""

    def __init__(
        self, client: Client, tiers: LiveTiers, *, namespace: str, writes: bool, aside: SetAside | None = None
    ) -> None:
        self._client, self._tiers, self._namespace, self._writes = client, tiers, namespace, writes
        self.nodes: Reflector[LabelledNode] = Reflector(client, NODES.of(LabelledNode), self._saw, aside=aside)
        self._stored: set[str] = set()
        self._changed = asyncio.Event()

    @property
    def ready(self) -> bool:
        """The nodes are known, or may not be read: then the configured label holds, or the seed's."""
        trouble = self.nodes.trouble
        return self.nodes.synced.is_set() or (isinstance(trouble, ApiError) and trouble.status in (401, 403))

    async def recall(self) -> None:
        """What was detected before, for the first decision."""
        try:
            found = await self._client.get(CONFIG_MAPS, CONFIG_MAP, namespace=self._namespace)
        except KubeError as error:
            log.info("no tiers are remembered", error=error)
            return
        self._stored = {*found.data} & {*NAMES}
        self._tiers.recall(self._stored)

    async def run(self) -> None:
        """Tell and remember what is new, until cancelled."""
        await self.nodes.synced.wait()
        logged: Tiers | None = None
        while True:
            if self._tiers.now != logged:
                logged = self._tiers.now
                log.info(logged.sentence(logged.of(each.metadata.labels) for each in self.nodes.objects.values()))
            self._changed.clear()
            kept = await self._remember()
            try:
                async with asyncio.timeout(None if kept else AGAIN_SECONDS):
                    await self._changed.wait()
            except TimeoutError:
                pass

    async def _remember(self) -> bool:
        """Store what is not stored yet; False where that failed."""
        fresh = self._tiers.known - self._stored
        if not fresh or not self._writes:
            return True
        data = dict.fromkeys(sorted(fresh), "detected")
        try:
            await self._client.patch(CONFIG_MAPS, CONFIG_MAP, {"data": data}, namespace=self._namespace)
        except KubeError as error:
            log.warning("tiers are not remembered; a restart detects them anew", error=error)
            return False
        self._stored |= fresh
        return True

    def _saw(self, change: Change[LabelledNode]) -> None:
        before = self._tiers.now
        if change.kind != "deleted":
            self._tiers.saw(change.object.metadata.labels)
        if self._tiers.now != before:
            self._changed.set()
