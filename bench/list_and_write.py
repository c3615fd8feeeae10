"""A webhook that decides nothing and does what every exact count must: one consistent list and one compare-and-swap.

Requests of one ReplicaSet that wait together are served together, as the product serves them. The ledger it writes is
of the same kind and as large. `python -m bench.list_and_write KUBECONFIG FOLDER` prints its port.
"""

import asyncio
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairlead.kube.admission.admit import Asking, begin
from fairlead.kube.admission.review import ReviewRequest, allow
from fairlead.kube.client import Client
from fairlead.kube.config import load
from fairlead.kube.errors import KubeError
from fairlead.kube.wire.http import connect
from fairlead.live.webhook.ledger import SlotLedger
from fairlead.live.webhook.listing import TEMPLATE_HASH, slots_of
from fairlead.live.webhook.metrics import WebhookMetrics
from fairlead.live.webhook.server import AdmissionServer
from fairlead.live.webhook.store import BeatenError, LedgerStore, Scope
from fairlead.live.webhook.tls import Certificate, Files
from fairlead.model.tiers import Tiers


class ListAndWrite:
    """One batch a ReplicaSet at a time; what comes meanwhile is in the next."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._store = LedgerStore(client, "default")
        self._waiting: dict[str, list[asyncio.Future[None]]] = defaultdict(list)
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._ledgers: dict[str, SlotLedger] = defaultdict(SlotLedger)

    async def answer(self, request: ReviewRequest) -> dict[str, Any]:
        """Allow, after the list and the write of the batch."""
        asking = begin(request, Tiers())
        assert isinstance(asking, Asking)
        uid = asking.controller.uid
        scope = Scope(
            uid=f"beside-{uid}",
            namespace=asking.namespace,
            replica_set=asking.controller.name,
            deployment=asking.controller.name,
            deployment_uid="",
            template=asking.pod.metadata.labels.get(TEMPLATE_HASH, ""),
        )
        done = asyncio.get_running_loop().create_future()
        self._waiting[uid].append(done)
        if uid not in self._serving:
            self._serving[uid] = asyncio.create_task(self._serve(uid, scope))
        await done
        return allow(request.uid)

    async def _serve(self, uid: str, scope: Scope) -> None:
        while batch := self._waiting.pop(uid, []):
            try:
                await self._list_and_write(uid, scope, len(batch))
            except (KubeError, BeatenError) as error:
                for each in batch:
                    each.set_exception(error)
            else:
                for each in batch:
                    each.set_result(None)
        del self._serving[uid]

    async def _list_and_write(self, uid: str, scope: Scope, size: int) -> None:
        listed = await slots_of(self._client, scope)
        ledger = replace(self._ledgers[uid], granted=listed.carried, seen=listed.active)
        self._ledgers[uid] = await self._store.write(scope, ledger, target=size)


async def main(kubeconfig: str, folder: str) -> None:
    """Serve until ended."""
    certificate = Certificate(Files(Path(folder)))
    await certificate.refresh()
    beside = ListAndWrite(connect(load(kubeconfig_path=kubeconfig)))
    server = AdmissionServer({"/mutate": beside.answer}, WebhookMetrics(), budget=9)
    async with server.listening("127.0.0.1:0", certificate.context) as port:
        print(port, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    import uvloop

    uvloop.run(main(*sys.argv[1:]))
