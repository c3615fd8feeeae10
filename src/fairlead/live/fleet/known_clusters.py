"""The member clusters as a fleet scheduler knows them: what cannot be read stays as it was (docs/decisions/0202)."""

from fairlead.kube.changes import Change
from fairlead.kube.codec.members import MemberClusters, readable, unread_cluster, unreadable
from fairlead.kube.objects.karmada import KarmadaCluster
from fairlead.kube.resources import CLUSTERS
from fairlead.live.runtime.aside import Aside
from fairlead.model.errors import InputError


class KnownClusters:
    """Every cluster as it could last be read; one that never could has a stand-in, so that nothing leaves it."""

    def __init__(self, aside: Aside) -> None:
        self._aside = aside
        self._known: dict[str, KarmadaCluster] = {}
        self._all: tuple[tuple[str, ...], MemberClusters] | None = None
        """Names of the clusters that cannot be read, and all clusters; None after a change of one."""

    def take(self, change: Change[KarmadaCluster]) -> InputError | None:
        """Remember a new state. What is wrong with its amounts is returned: such a cluster has no known room.

        A state that cannot be read at all raises and is not remembered.
        """
        name = change.object.metadata.name
        self._all = None
        if change.kind == "deleted":
            self._known.pop(name, None)
            return None
        readable(change.object)
        self._known[name] = change.object
        return unreadable(change.object)

    def all(self) -> MemberClusters:
        """Those that are known and the stand-ins."""
        clusters = [CLUSTERS.group, CLUSTERS.kind]
        aside = tuple(name for *kind, _, name in self._aside.faults if kind == clusters and name not in self._known)
        if self._all is None or self._all[0] != aside:
            self._all = aside, MemberClusters([*self._known.values(), *map(unread_cluster, aside)])
        return self._all[1]


def same_but_room(one: KarmadaCluster, other: KarmadaCluster) -> bool:
    """Whether two states of a cluster differ in nothing but their room and versions."""
    meta, old = one.metadata, other.metadata
    apis = one.status.api_enablements == other.status.api_enablements
    return apis and (one.spec, meta.labels, meta.deletion_timestamp) == (other.spec, old.labels, old.deletion_timestamp)
