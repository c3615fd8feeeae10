"""A pod's spec to the shape of a replica."""

from collections.abc import Iterator, Mapping

from fairlead.kube.codec.disks import exclusive
from fairlead.kube.codec.requests import request
from fairlead.kube.objects import affinity as api
from fairlead.kube.objects import meta
from fairlead.kube.objects.pod import PodSpec
from fairlead.model.errors import InputError
from fairlead.model.selectors import LabelSelector, Operator, Preference, Requirement, Term, Toleration
from fairlead.model.shape import Neighbour, Pairs, Port, Shape, Spread

ANY_ADDRESS = "0.0.0.0"
RESTART_ALL = "RestartAllContainers"
RESTARTS_ALL = "RestartAllContainersOnContainerExits"
USERS_ON_HOST_NETWORK = "UserNamespacesHostNetworkSupport"


def shape(namespace: str, labels: Mapping[str, str], spec: PodSpec) -> Shape:
    """Everything in the spec that decides where the pod may run.

    Of its volumes only the disks that it names itself are part of it: claims have to be looked up elsewhere.
    """
    affinity = spec.affinity or api.Affinity()
    node = affinity.node_affinity or api.NodeAffinity()
    near = affinity.pod_affinity or api.PodAffinity()
    far = affinity.pod_anti_affinity or api.PodAffinity()
    return Shape(
        namespace=namespace,
        labels=pairs(labels),
        request=tuple(sorted(request(spec).items())),
        node_selector=pairs(spec.node_selector),
        required=None if node.required is None else tuple(map(term, node.required.node_selector_terms)),
        preferred=tuple(Preference(each.weight, term(each.preference)) for each in node.preferred),
        tolerations=tuple(map(toleration, spec.tolerations)),
        spread=tuple(_spread(each, labels) for each in spec.topology_spread_constraints),
        near=_neighbours(near, labels),
        far=_neighbours(far, labels),
        ports=_ports(spec),
        disks=exclusive(spec.volumes),
        features=tuple(_features(spec)),
    )


def pairs(mapping: Mapping[str, str]) -> Pairs:
    """A map as sorted pairs, which compare and hash."""
    return tuple(sorted(mapping.items()))


def requirement(expression: meta.RequirementSpec) -> Requirement:
    """One expression of a selector. An operator that the API does not know is bad input."""
    try:
        operator = Operator(expression.operator)
    except ValueError:
        known = ", ".join(Operator)
        raise InputError("matchExpressions", f"operator {expression.operator!r}; expected one of {known}") from None
    return Requirement(expression.key, operator, expression.values)


def term(selected: api.NodeSelectorTerm) -> Term:
    """A node selector term."""
    return Term(tuple(map(requirement, selected.match_expressions)), tuple(map(requirement, selected.match_fields)))


def toleration(given: api.TolerationSpec) -> Toleration:
    """A toleration; no operator means Equal."""
    return Toleration(given.key, given.operator or "Equal", given.value, given.effect)


def selector(given: meta.LabelSelectorSpec | None) -> LabelSelector | None:
    """A label selector: absent selects nothing, empty selects everything."""
    if given is None:
        return None
    equal = tuple(Requirement(key, Operator.IN, (value,)) for key, value in pairs(given.match_labels))
    return LabelSelector((*equal, *map(requirement, given.match_expressions)))


def _narrowed(
    given: meta.LabelSelectorSpec | None, labels: Mapping[str, str], same: tuple[str, ...], other: tuple[str, ...] = ()
) -> LabelSelector | None:
    """The selector with `matchLabelKeys` and `mismatchLabelKeys` filled in from the pod's own labels."""
    base = selector(given)
    if base is None:
        return None
    more = tuple(Requirement(key, Operator.IN, (labels[key],)) for key in same if key in labels)
    less = tuple(Requirement(key, Operator.NOT_IN, (labels[key],)) for key in other if key in labels)
    return LabelSelector((*base.requirements, *more, *less))


def _spread(given: api.TopologySpreadConstraint, labels: Mapping[str, str]) -> Spread:
    return Spread(
        key=given.topology_key,
        most_skew=given.max_skew,
        hard=given.when_unsatisfiable == "DoNotSchedule",
        selector=_narrowed(given.label_selector, labels, given.match_label_keys),
        least_domains=given.min_domains or 1,
        respects_affinity=given.node_affinity_policy == "Honor",
        respects_taints=given.node_taints_policy == "Honor",
    )


def _neighbours(given: api.PodAffinity, labels: Mapping[str, str]) -> tuple[Neighbour, ...]:
    required = tuple(_neighbour(each, labels, 0) for each in given.required)
    return (*required, *(_neighbour(each.pod_affinity_term, labels, each.weight) for each in given.preferred))


def _neighbour(given: api.PodAffinityTerm, labels: Mapping[str, str], weight: int) -> Neighbour:
    return Neighbour(
        key=given.topology_key,
        selector=_narrowed(given.label_selector, labels, given.match_label_keys, given.mismatch_label_keys),
        namespaces=tuple(sorted(given.namespaces)),
        namespace_selector=selector(given.namespace_selector),
        weight=weight,
    )


def _features(spec: PodSpec) -> Iterator[str]:
    """What a node must declare to run such a pod, as kube-scheduler 1.36 infers it, in order of name."""
    containers = (*spec.containers, *spec.init_containers)
    if any(rule.action == RESTART_ALL for each in containers for rule in each.restart_policy_rules):
        yield RESTARTS_ALL
    if spec.host_network and spec.host_users is False:
        yield USERS_ON_HOST_NETWORK


def _ports(spec: PodSpec) -> tuple[Port, ...]:
    """Ports on the node itself; with the host's network every container port is one.

    An init container that ends before the others start holds none; a sidecar does.
    """
    running = (*spec.containers, *(each for each in spec.init_containers if each.restart_policy == "Always"))
    found = {
        Port(
            number=port.host_port or port.container_port,
            protocol=port.protocol or "TCP",
            address=port.host_ip or ANY_ADDRESS,
        )
        for container in running
        for port in container.ports
        if port.host_port or (spec.host_network and port.container_port)
    }
    return tuple(sorted(found, key=lambda port: (port.number, port.protocol, port.address)))
