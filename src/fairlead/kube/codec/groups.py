"""Where the other workloads of a binding's affinity groups are.

Karmada's controllers name the groups of a workload in `spec.workloadAffinityGroups`; they hold inside a namespace. A
workload goes where every other of its affinity group is that has targets (the first one anywhere), and where none of
its anti-affinity group is. Both are for new targets only (docs/decisions/0220).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import field

from fairlead.dataclass import dataclass
from fairlead.kube.objects.karmada import AffinityGroups, GroupTerm, ResourceBinding, WorkloadAffinity

Key = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Clusters of others: `near` those that all of the affinity group are on (None: none has targets yet), `apart`
    those that one of the anti-affinity group is on.
    """

    near: frozenset[str] | None = None
    apart: frozenset[str] = frozenset()


ALONE = Neighbours()


@dataclass(slots=True)
class GroupMembers:
    """Every group of every namespace with the clusters of each of its bindings. Kept by the caller."""

    _near: dict[Key, dict[Key, frozenset[str]]] = field(default_factory=lambda: defaultdict(dict))
    _apart: dict[Key, dict[Key, frozenset[str]]] = field(default_factory=lambda: defaultdict(dict))

    def put(self, binding: ResourceBinding, clusters: Iterable[str] | None = None) -> set[Key]:
        """The binding with its clusters, or with those that it is about to get; gives the others it was with before."""
        key = (binding.metadata.namespace, binding.metadata.name)
        left = self.drop(key)
        names = frozenset(each.name for each in binding.spec.clusters) if clusters is None else frozenset(clusters)
        for index, group in zip((self._near, self._apart), groups_of(binding), strict=True):
            if group and key[0]:
                index[(key[0], group)][key] = names
        return left

    def seen(self, binding: ResourceBinding) -> set[Key]:
        """The binding with its clusters; gives all that were in a group with it or are now, itself included."""
        left = self.put(binding)
        space = binding.metadata.namespace
        near, apart = groups_of(binding)
        return {*left, *self._near.get((space, near), {}), *self._apart.get((space, apart), {})}

    def drop(self, key: Key) -> set[Key]:
        """The binding is gone; gives the others of its groups."""
        left: set[Key] = set()
        for index in (self._near, self._apart):
            for group in [each for each, members in index.items() if key in members]:
                del index[group][key]
                left.update(index[group])
                if not index[group]:
                    del index[group]
        return left

    def of(self, binding: ResourceBinding) -> Neighbours:
        """What the others in the binding's groups hold."""
        key = (binding.metadata.namespace, binding.metadata.name)
        near, apart = groups_of(binding)
        with_it = _others(self._near.get((key[0], near), {}), key) if near else []
        against = _others(self._apart.get((key[0], apart), {}), key) if apart else []
        return Neighbours(
            near=frozenset.intersection(*with_it) if with_it else None, apart=frozenset[str]().union(*against)
        )


def groups_of(binding: ResourceBinding) -> tuple[str, str]:
    """The affinity and the anti-affinity group of a binding, empty where it has none."""
    groups = binding.spec.workload_affinity_groups
    return (groups.affinity_group, groups.anti_affinity_group) if groups else ("", "")


def groups_by_labels(wanted: WorkloadAffinity | None, labels: Mapping[str, str]) -> AffinityGroups | None:
    """The groups that Karmada's controllers will name for a workload with these labels; None where it is in none."""
    if wanted is None:
        return None
    groups = AffinityGroups(
        affinity_group=_named(wanted.affinity, labels), anti_affinity_group=_named(wanted.anti_affinity, labels)
    )
    return groups if groups != AffinityGroups() else None


def _named(term: GroupTerm | None, labels: Mapping[str, str]) -> str:
    key = term.group_by_label_key if term else ""
    return f"{key}={labels[key]}" if key and key in labels else ""


def _others(members: Mapping[Key, frozenset[str]], key: Key) -> list[frozenset[str]]:
    """The clusters of each other one that has some."""
    return [names for each, names in members.items() if each != key and names]
