"""Groups that differ only in labels that no selector reads are placed as one (docs/decisions/0451).

Pods of CI runners, notebooks and indexed jobs each carry a label of their own. Where a pod may run depends on labels in
two ways only: its own wishes and those of others select replicas by labels. What no selector reads, no decision sees.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from fairlead.live.cluster.pod_sets import PodSet, in_order
from fairlead.model.population import Population
from fairlead.model.selectors import LabelSelector
from fairlead.model.shape import Neighbour, Shape


def lookalikes(groups: Sequence[PodSet], population: Population) -> list[list[PodSet]]:
    """The groups in their order, those together that look the same to every selector of these groups and residents."""
    if len(groups) < 2:
        return [[each] for each in groups]
    read = keys_read((each.shape for each in groups), population)
    found: dict[object, list[PodSet]] = {}
    for group in groups:
        found.setdefault(_looks(group, read), []).append(group)
    return list(found.values())


def joined(groups: Sequence[PodSet]) -> PodSet:
    """One group of all the pods, with the looks of the first."""
    if len(groups) == 1:
        return groups[0]
    pods = in_order(chain.from_iterable(each.pods for each in groups))
    return PodSet(controller=groups[0].controller, shape=groups[0].shape, pods=pods)


def keys_read(shapes: Iterable[Shape], population: Population) -> frozenset[str]:
    """The keys of labels that selectors of shapes, or of residents that keep others away, read of replicas."""
    wary = (population.residents[code].far for code in population.wary or ())
    own = (_selectors(shape) for shape in shapes)
    selectors = chain(chain.from_iterable(own), _of(chain.from_iterable(wary)))
    return frozenset(each.key for selector in selectors if selector is not None for each in selector.requirements)


def _selectors(shape: Shape) -> Iterator[LabelSelector | None]:
    return chain(_of(shape.near), _of(shape.far), (each.selector for each in shape.spread))


def _of(terms: Iterable[Neighbour]) -> Iterator[LabelSelector | None]:
    return (each.selector for each in terms)


def _looks(group: PodSet, read: frozenset[str]) -> object:
    """What tells groups apart: everything but the labels that are not read."""
    controller, shape, *rest = group.key
    labels = tuple(each for each in shape.labels if each[0] in read)
    return controller, shape.unlabelled, labels, *rest
