"""The messages of Karmada's scheduler estimators in protobuf (docs/decisions/0400).

Requests, tolerations and node affinity are told twice: under the numbers that estimators up to Karmada 1.17 read, and
under those that later ones read (`…Bytes`). Both hold the same bytes, and each side skips what it does not know.
"""

from collections.abc import Iterable, Sequence

from fairlead.kube.objects.affinity import NodeSelector, TolerationSpec
from fairlead.kube.objects.karmada import Component, NodeClaim, ReplicaRequirements
from fairlead.kube.objects.meta import RequirementSpec
from fairlead.kube.wire.unary import CallError

NUMBER = 1 << 3
"""The key of the one number in an answer: field 1, written as a varint."""
UNREAD = "an answer that cannot be read"


def replicas_request(cluster: str, needs: ReplicaRequirements | None) -> bytes:
    """`MaxAvailableReplicasRequest`."""
    return _text(1, cluster) + (b"" if needs is None else _part(2, _requirements(needs)))


def sets_request(cluster: str, components: Sequence[Component], namespace: str) -> bytes:
    """`MaxAvailableComponentSetsRequest`."""
    return _text(1, cluster) + b"".join(_part(2, _component(each)) for each in components) + _text(3, namespace)


def number(answer: bytes) -> int | None:
    """`maxReplicas` or `maxSets` of the answer, 0 where it is absent; None for a negative one: not known.

    Other fields are those of a later protocol. They may come without it, for a 0 need not be sent.
    """
    value, rest = 0, answer
    while rest:
        key, rest = _read_varint(rest)
        if key == NUMBER:
            value, rest = _read_varint(rest)
        else:
            rest = _skipped(key, rest)
    return value if value < 1 << 31 else None


def _skipped(key: int, rest: bytes) -> bytes:
    """What comes after a field that is not known."""
    kind, size = key & 7, 0
    if key >> 3 == NUMBER >> 3 or kind not in (0, 1, 2, 5):
        raise CallError(UNREAD)
    if kind == 0:
        return _read_varint(rest)[1]
    if kind == 2:
        size, rest = _read_varint(rest)
    size = {1: 8, 5: 4}.get(kind, size)
    if size > len(rest):
        raise CallError(UNREAD)
    return rest[size:]


def _read_varint(given: bytes) -> tuple[int, bytes]:
    """A number, and what comes after it."""
    value = 0
    for place, byte in enumerate(given[:10]):
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, given[place + 1 :]
    raise CallError(UNREAD)


def _requirements(needs: ReplicaRequirements) -> bytes:
    names = _text(3, needs.namespace) + _text(4, needs.priority_class_name)
    return _claimed(needs) + _amounts(2, needs) + names + _amounts(5, needs)


def _component(given: Component) -> bytes:
    needs = given.replica_requirements
    asked = b""
    if needs is not None:
        priority = _text(3, needs.priority_class_name)
        asked = _part(2, _claimed(needs) + _amounts(2, needs) + priority + _amounts(4, needs))
    return _text(1, given.name) + asked + (_number(3, given.replicas) if given.replicas else b"")


def _claimed(needs: ReplicaRequirements) -> bytes:
    return b"" if needs.node_claim is None else _part(1, _claim(needs.node_claim))


def _amounts(field: int, needs: ReplicaRequirements) -> bytes:
    amounts = {name: _text(1, str(value)) for name, value in sorted(needs.resource_request.items())}
    return b"".join(_part(field, _text(1, name) + _part(2, value)) for name, value in amounts.items())


def _claim(claim: NodeClaim) -> bytes:
    labels = b"".join(_part(2, _text(1, name) + _text(2, value)) for name, value in sorted(claim.node_selector.items()))
    affinity = None if claim.hard_node_affinity is None else _selector(claim.hard_node_affinity)
    tolerations = [_toleration(each) for each in claim.tolerations]

    def numbered(affinity_field: int, tolerations_field: int, between: bytes) -> bytes:
        first = b"" if affinity is None else _part(affinity_field, affinity)
        return first + between + b"".join(_part(tolerations_field, each) for each in tolerations)

    return numbered(1, 3, labels) + numbered(4, 5, b"")


def _selector(selector: NodeSelector) -> bytes:
    return b"".join(
        _part(1, _expressions(1, term.match_expressions) + _expressions(2, term.match_fields))
        for term in selector.node_selector_terms
    )


def _expressions(field: int, given: Iterable[RequirementSpec]) -> bytes:
    parts = (_text(1, each.key) + _text(2, each.operator) + _texts(3, each.values) for each in given)
    return b"".join(_part(field, part) for part in parts)


def _toleration(given: TolerationSpec) -> bytes:
    texts = _text(1, given.key) + _text(2, given.operator) + _text(3, given.value) + _text(4, given.effect)
    return texts + (b"" if given.toleration_seconds is None else _number(5, given.toleration_seconds))


def _texts(field: int, values: Iterable[str]) -> bytes:
    return b"".join(_part(field, value.encode()) for value in values)


def _text(field: int, value: str) -> bytes:
    return _part(field, value.encode()) if value else b""


def _part(field: int, content: bytes) -> bytes:
    return bytes((field << 3 | 2,)) + _varint(len(content)) + content


def _number(field: int, value: int) -> bytes:
    return bytes((field << 3,)) + _varint(value)


def _varint(value: int) -> bytes:
    """A number in groups of seven bits; negative ones as 64 bits."""
    value &= (1 << 64) - 1
    digits = bytearray()
    while value >= 128:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*digits, value))
