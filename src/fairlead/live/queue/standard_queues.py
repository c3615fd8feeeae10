"""The queues `root` and `default`, created where Queues are served and these are missing (docs/decisions/0248)."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, field
from typing import Any

import structlog

from fairlead.dataclass import dataclass
from fairlead.kube.changes import Key
from fairlead.kube.client import Client
from fairlead.kube.codec.queues import DEFAULT, ROOT
from fairlead.kube.errors import ApiError, KubeError
from fairlead.kube.objects.volcano import VolcanoQueue
from fairlead.kube.resources import QUEUES
from fairlead.live.runtime.pulse import Pulse
from fairlead.live.runtime.reconcile_loop import every

STANDARD: Mapping[str, dict[str, Any]] = {
    ROOT: {"weight": 1, "reclaimable": False},
    DEFAULT: {"weight": 1, "reclaimable": True},
}
"""Their specs, as vc-scheduler writes them."""
REST = 60.0
"""Seconds before a queue that could not be created is tried again."""

log = structlog.get_logger("queue")


@dataclass(slots=True, eq=False)
class StandardQueues:
    """Without them Volcano's controllers retry forever and its Jobs have no status. `StatusLoop` writes their status.

    `queues` are those that the server has, None while it does not serve them; `acts`: whether this instance leads and
    may create them; time is that of `clock`.
    """

    client: Client
    queues: Callable[[], Mapping[Key, VolcanoQueue] | None]
    _: KW_ONLY
    clock: Callable[[], float]
    acts: Callable[[], bool]
    period: float
    pulse: Pulse
    _rests: dict[str, float] = field(default_factory=dict, init=False)

    async def run(self) -> None:
        """Look for them until cancelled."""
        await every(self.period, self.round, name="standard queues", pulse=self.pulse)

    async def round(self) -> None:
        """Create those that are missing."""
        queues = self.queues()
        if queues is None or not self.acts():
            return
        for name, spec in STANDARD.items():
            if ("", name) not in queues and self.clock() >= self._rests.get(name, 0.0):
                # The watch may be late, and a queue that cannot be read is there all the same.
                self._rests[name] = self.clock() + REST
                await self._create(name, spec)

    async def _create(self, name: str, spec: dict[str, Any]) -> None:
        try:
            await self.client.create(QUEUES.raw, {"metadata": {"name": name}, "spec": spec})
        except ApiError as error:
            if not error.already_exists:
                log.warning("queue not created", queue=name, why=error)
        except KubeError as error:
            log.warning("queue not created", queue=name, why=error)
        else:
            log.info("queue created", queue=name)
