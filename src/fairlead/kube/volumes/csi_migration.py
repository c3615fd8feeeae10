"""Where drivers have taken over in-tree plugins, by what each node's CSINode says, and what that means for volumes."""

from collections import defaultdict

from fairlead.kube.codec.disks import as_the_driver_says, plugin_of
from fairlead.kube.codec.volumes import volume_terms
from fairlead.kube.objects.storage import CsiNode, PersistentVolume
from fairlead.levels.node.constraints.labels import NAME_FIELD
from fairlead.model.claims import Terms
from fairlead.model.selectors import Operator, Requirement, Term

MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"


class Migration:
    """Nodes by the in-tree plugin that a driver stands in for there."""

    def __init__(self) -> None:
        self._of_node: dict[str, frozenset[str]] = {}
        self._nodes: dict[str, set[str]] = defaultdict(set)
        self._ordered: dict[str, tuple[str, ...]] = {}

    def put(self, name: str, node: CsiNode | None) -> None:
        """What the node says now; None: it says nothing any more."""
        said = "" if node is None else node.metadata.annotations.get(MIGRATED_PLUGINS, "")
        now, before = frozenset(said.split(",")) - {""}, self._of_node.pop(name, frozenset())
        if now:
            self._of_node[name] = now
        for plugin in before ^ now:
            self._ordered.pop(plugin, None)
            (self._nodes[plugin].add if plugin in now else self._nodes[plugin].discard)(name)

    def terms(self, volume: PersistentVolume) -> Terms:
        """The nodes from which the volume can be reached: on migrated ones its zones have the driver's label."""
        plain, plugin = volume_terms(volume), plugin_of(volume.spec)
        nodes = self._migrated(plugin.name) if plugin is not None else ()
        if plugin is None or not nodes:
            return plain
        moved = as_the_driver_says(volume, plugin)
        there = () if moved is None else _on(volume_terms(moved), Requirement(NAME_FIELD, Operator.IN, nodes))
        return (*_on(plain, Requirement(NAME_FIELD, Operator.NOT_IN, nodes)), *there)

    def _migrated(self, plugin: str) -> tuple[str, ...]:
        if plugin not in self._ordered:
            self._ordered[plugin] = tuple(sorted(self._nodes.get(plugin, ())))
        return self._ordered[plugin]


def _on(terms: Terms, nodes: Requirement) -> tuple[Term, ...]:
    """The terms on these nodes alone. A term without conditions matches nothing, and goes on so."""
    if terms is None:
        return (Term(fields=(nodes,)),)
    return tuple(Term(each.labels, (*each.fields, nodes)) for each in terms if each.labels or each.fields)
