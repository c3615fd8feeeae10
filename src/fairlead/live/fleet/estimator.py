"""Karmada's accurate scheduler estimators: how many replicas a member cluster still holds, by its own account.

An estimator runs beside each member and answers `MaxAvailableReplicas` over gRPC. Its answer and the room that the
cluster reports are both obeyed: the lower one counts. One that does not answer in time is left out, as Karmada does.
"""

import asyncio
import ssl
from collections.abc import Iterable
from dataclasses import dataclass

import structlog

from fairlead.kube.objects.affinity import NodeSelector, TolerationSpec
from fairlead.kube.objects.karmada import NodeClaim, ReplicaRequirements, ResourceBinding
from fairlead.kube.objects.meta import RequirementSpec
from fairlead.kube.wire.unary import CallError, Channel

METHOD = "/github.com.karmada_io.karmada.pkg.estimator.service.Estimator/MaxAvailableReplicas"
REST = 30.0
"""Seconds for which an estimator that failed is left out."""

log = structlog.get_logger("fleet")


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatorOptions:
    """Where the estimator of a cluster is (`{cluster}` stands for its name), and how long an answer may take.

    `authority`, `certificate` and `key` are files; without an authority the connection is not encrypted.
    """

    address: str
    seconds: float = 3.0
    authority: str = ""
    certificate: str = ""
    key: str = ""


class Estimators:
    """The estimators of all members. Files are read when it is made: `OSError` where they cannot be."""

    def __init__(self, options: EstimatorOptions) -> None:
        self._options = options
        self._tls = _tls(options)
        self._channels: dict[str, Channel] = {}
        self._rests: dict[str, float] = {}

    async def ask(self, binding: ResourceBinding, clusters: Iterable[str]) -> dict[str, int]:
        """The answers of the clusters that gave one, all asked at once."""
        names = list(clusters)
        needs = binding.spec.replica_requirements
        found = await asyncio.gather(*(self._one(name, request(name, needs)) for name in names))
        return {name: answer for name, answer in zip(names, found, strict=True) if answer is not None}

    async def _one(self, cluster: str, message: bytes) -> int | None:
        """One that failed is not asked again for a while: a dead estimator must not hold up every decision."""
        now = asyncio.get_running_loop().time()
        if self._rests.get(cluster, 0.0) > now:
            return None
        try:
            return replicas(await self._channel(cluster).call(METHOD, message, self._options.seconds))
        except CallError as error:
            self._rests[cluster] = now + REST
            log.warning("no answer of an estimator; what its cluster reports counts", cluster=cluster, why=str(error))
            return None

    def _channel(self, cluster: str) -> Channel:
        if cluster not in self._channels:
            host, _, port = self._options.address.replace("{cluster}", cluster).rpartition(":")
            self._channels[cluster] = Channel(host, int(port), self._tls)
        return self._channels[cluster]

    def close(self) -> None:
        """End all connections."""
        for each in self._channels.values():
            each.close()


def _tls(options: EstimatorOptions) -> ssl.SSLContext | None:
    if not options.authority:
        return None
    context = ssl.create_default_context(cafile=options.authority)
    context.set_alpn_protocols(["h2"])
    if options.certificate:
        context.load_cert_chain(options.certificate, options.key or None)
    return context


def request(cluster: str, needs: ReplicaRequirements | None) -> bytes:
    """`MaxAvailableReplicasRequest` in protobuf."""
    return _text(1, cluster) + (b"" if needs is None else _part(2, _requirements(needs)))


def replicas(answer: bytes) -> int | None:
    """`maxReplicas` of the answer, which is 0 where it is absent; None for a negative number, which means not known."""
    if not answer:
        return 0
    if answer[0] != 1 << 3:
        raise CallError("an answer without maxReplicas")
    value = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(answer[1:]))
    return value if value < 1 << 31 else None


def _requirements(needs: ReplicaRequirements) -> bytes:
    claim = b"" if needs.node_claim is None else _part(1, _claim(needs.node_claim))
    amounts = {name: _text(1, str(value)) for name, value in sorted(needs.resource_request.items())}
    asked = b"".join(_part(5, _text(1, name) + _part(2, value)) for name, value in amounts.items())
    return claim + _text(3, needs.namespace) + _text(4, needs.priority_class_name) + asked


def _claim(claim: NodeClaim) -> bytes:
    labels = b"".join(_part(2, _text(1, name) + _text(2, value)) for name, value in sorted(claim.node_selector.items()))
    affinity = b"" if claim.hard_node_affinity is None else _part(4, _selector(claim.hard_node_affinity))
    return labels + affinity + b"".join(_part(5, _toleration(each)) for each in claim.tolerations)


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
    return texts + (b"" if given.toleration_seconds is None else b"\x28" + _varint(given.toleration_seconds))


def _texts(field: int, values: Iterable[str]) -> bytes:
    return b"".join(_part(field, value.encode()) for value in values)


def _text(field: int, value: str) -> bytes:
    return _part(field, value.encode()) if value else b""


def _part(field: int, content: bytes) -> bytes:
    return bytes((field << 3 | 2,)) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """A number in groups of seven bits; negative ones as 64 bits."""
    value &= (1 << 64) - 1
    digits = bytearray()
    while value >= 128:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*digits, value))
