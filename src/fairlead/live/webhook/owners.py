"""Controllers by name: from a cache that follows the API server where that is good enough, live where it is not."""

from collections.abc import Iterable

from fairlead.kube.admission.admit import Asking, Lookup, resolve
from fairlead.kube.changes import Change, SetAside
from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError
from fairlead.kube.objects.tier import TieredController
from fairlead.kube.resources import DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, Resource
from fairlead.kube.watch import Reflector
from fairlead.levels.tier.split import Split
from fairlead.model.errors import InputError
from fairlead.model.owners import Owner

RESOURCES: dict[str, Resource[TieredController]] = {
    each.kind: each.of(TieredController) for each in (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS)
}


class Owners:
    """The Deployments, ReplicaSets and StatefulSets of the cluster.

    The cache may be behind by moments. That is good enough to tell pods that are not ours, and for StatefulSets, whose
    ordinals need no count; whatever is counted reads its owner live.
    """

    def __init__(self, client: Client, aside: SetAside | None = None) -> None:
        self._client = client
        self._cache = {kind: Reflector(client, each, _ignore, aside=aside) for kind, each in RESOURCES.items()}

    @property
    def reflectors(self) -> Iterable[Reflector[TieredController]]:
        """To be run beside the server."""
        return self._cache.values()

    async def cached(self, lookup: Lookup) -> TieredController | None:
        """The object from the cache; read live where the cache has none, or another one under that name."""
        found = self._cache[lookup.kind].objects.get((lookup.namespace, lookup.name))
        return found if found is not None and found.metadata.uid == lookup.uid else await self.live(lookup)

    async def live(self, lookup: Lookup) -> TieredController | None:
        """The object as stored now, None where there is none. A name that cannot be one is bad input."""
        resource = RESOURCES[lookup.kind]
        if not lookup.name or not lookup.namespace or {lookup.name, lookup.namespace} & {".", ".."}:
            place = f"{resource.label} {lookup.namespace}/{lookup.name}"
            raise InputError("$.request.object.metadata.ownerReferences", f"{place!r} is not a namespace and a name")
        try:
            return await self._client.get(resource, lookup.name, namespace=lookup.namespace)
        except ApiError as error:
            if not error.not_found:
                raise
            return None

    async def resolve(self, asking: Asking) -> tuple[Owner | Split, TieredController | None]:
        """The owner of a pod (or the verdict where there is none), and the workload it was read from."""
        steps = resolve(asking)
        lookup = next(steps)
        while True:
            found = await self.cached(lookup)
            try:
                lookup = steps.send(found)
            except StopIteration as end:
                return end.value, found


def _ignore(change: Change[TieredController]) -> None:
    """The cache itself is all that is needed."""
