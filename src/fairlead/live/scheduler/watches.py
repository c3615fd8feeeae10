"""What the scheduler follows: every kind with its sink, and which of them must be current for a decision."""

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, TypeVar

from fairlead.kube.changes import Change, SetAside
from fairlead.kube.client import Client
from fairlead.kube.objects.node import Node
from fairlead.kube.resources import NAMESPACES, NODES, PODS, Resource
from fairlead.kube.watch import Reflector
from fairlead.live.cluster.cache import Cache
from fairlead.live.cluster.records import PodRecord, Records
from fairlead.live.queue.job_cache import JobCache

T = TypeVar("T")


class Watches:
    """Reflectors that keep the cache and the job cache. `vital` are those of nodes and pods (docs/decisions/0212).

    `aside` is called for objects that cannot be read or used.
    """

    def __init__(
        self,
        client: Client,
        cache: Cache,
        job_cache: JobCache,
        on_node: Callable[[Change[Node]], None],
        on_pod: Callable[[Change[PodRecord]], None],
        aside: SetAside,
    ) -> None:
        follow = partial(Reflector[Any], client, aside=aside)

        def kept(known: Any) -> dict[Resource[Any], Reflector[Any]]:
            return {resource: follow(resource, sink) for resource, sink in known.watched()}

        self._shared = kept(job_cache)
        self._owners = kept(job_cache.announced)
        self.vital: tuple[Reflector[Any], ...] = (
            follow(NODES, on_node),
            follow(PODS, on_pod, keep=Records().record),
        )
        self.all: tuple[Reflector[Any], ...] = (
            *self._shared.values(),
            follow(NAMESPACES, cache.on_namespace),
            *kept(cache.storage).values(),
            *kept(cache.rules).values(),
            *self.vital,
        )

    @property
    def beside(self) -> tuple[Callable[[], Coroutine[Any, Any, None]], ...]:
        """Watches that no decision waits for: where owners may not be followed, their pods are decided as they are."""
        return tuple(each.run for each in self._owners.values())

    @property
    def owners_known(self) -> bool:
        """Whether owners that announce groups are followed."""
        return all(each.synced.is_set() for each in self._owners.values())

    def served(self, resource: Resource[Any]) -> bool:
        """Whether the server has this kind of the queue level."""
        return self._shared[resource].served

    def objects(self, resource: Resource[T]) -> Mapping[tuple[str, str], T]:
        """Queues, PodGroups and quotas as the server has them."""
        return self._shared[resource].objects
