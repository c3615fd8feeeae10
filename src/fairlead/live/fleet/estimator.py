"""Karmada's accurate scheduler estimators: how much of a workload a member cluster still holds, by its own account.

An estimator runs beside each member and answers over gRPC how many replicas fit or, of a workload with components, how
many whole sets. Its answer and the room that the cluster reports are both obeyed: the lower one counts. One that does
not answer in time is left out, as Karmada does.
"""

import asyncio
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence, Set

import structlog

from fairlead.kube.codec.fleet import is_set
from fairlead.kube.objects.karmada import ResourceBinding
from fairlead.kube.wire.unary import CallError, Channel
from fairlead.live.fleet.decide import BindingVerdict
from fairlead.live.fleet.estimator_messages import number, replicas_request, sets_request
from fairlead.live.runtime.outbox import together
from fairlead.model.errors import InputError
from fairlead.settings import EstimatorSettings

SERVICE = "/github.com.karmada_io.karmada.pkg.estimator.service.Estimator"
REPLICAS = f"{SERVICE}/MaxAvailableReplicas"
SETS = f"{SERVICE}/MaxAvailableComponentSets"
IN_FLIGHT = 32
"""Bindings that are asked for at once."""
REST = 30.0
"""Seconds for which an estimator that failed is left out."""

log = structlog.get_logger("fleet")


class Estimators:
    """The estimators of all members. Files are read when it is made: `InputError` where they cannot be.

    `answered` is called for each binding that was asked for: all of a round together may take long.
    """

    def __init__(self, options: EstimatorSettings, answered: Callable[[], None] = lambda: None) -> None:
        self._options = options
        self._answered = answered
        self._tls = _tls(options)
        self._channels: dict[str, tuple[Channel, asyncio.Lock]] = {}
        self._rests: dict[tuple[str, str], float] = {}
        """Until when which question is not put to which cluster: an older estimator knows no sets."""

    async def ask(self, binding: ResourceBinding, clusters: Iterable[str]) -> dict[str, int]:
        """The answers of the clusters that gave one, all asked at once: replicas, or sets where it is a set."""
        names = list(clusters)
        spec = binding.spec
        if is_set(binding):
            asked = [(SETS, sets_request(name, spec.components, spec.resource.namespace)) for name in names]
        else:
            asked = [(REPLICAS, replicas_request(name, spec.replica_requirements)) for name in names]
        found = await asyncio.gather(*(self._one(name, *each) for name, each in zip(names, asked, strict=True)))
        return {name: answer for name, answer in zip(names, found, strict=True) if answer is not None}

    async def _one(self, cluster: str, method: str, message: bytes) -> int | None:
        """One that failed is not asked again for a while: a dead estimator must not hold up every decision."""
        clock = asyncio.get_running_loop().time
        channel, turn = self._channel(cluster)
        async with turn:
            if self._rests.get((cluster, method), 0.0) > clock():
                return None
            try:
                return number(await channel.call(method, message, self._options.seconds))
            except CallError as error:
                self._rests[cluster, method] = clock() + REST
                why = str(error)
                log.warning("no answer of an estimator; what its cluster reports counts", cluster=cluster, why=why)
                return None

    async def about(self, verdicts: Sequence[BindingVerdict], clusters: Sequence[str]) -> list[Mapping[str, int]]:
        """What they say of each binding that is about to change and that room has a say in; nothing of the others.

        `clusters` are all that there are: the connections to others end.
        """
        self._leave({*clusters})

        async def answers(verdict: BindingVerdict) -> Mapping[str, int]:
            asks = verdict.by_room and not verdict.kept
            found = await self.ask(verdict.binding, clusters) if asks else {}
            self._answered()
            return found

        return await together(answers, verdicts, in_flight=IN_FLIGHT)

    def _channel(self, cluster: str) -> tuple[Channel, asyncio.Lock]:
        """The connection to the estimator of a cluster, and whose turn it is to use it."""
        if cluster not in self._channels:
            host, _, port = self._options.address.replace("{cluster}", cluster).rpartition(":")
            self._channels[cluster] = Channel(host, int(port), self._tls), asyncio.Lock()
        return self._channels[cluster]

    def _leave(self, there: Set[str]) -> None:
        """End the connections to clusters that are not there any more."""
        for cluster in self._channels.keys() - there:
            channel, _ = self._channels.pop(cluster)
            channel.close()
            for key in [key for key in self._rests if key[0] == cluster]:
                del self._rests[key]

    def close(self) -> None:
        """End all connections."""
        self._leave(frozenset())


def _tls(options: EstimatorSettings) -> ssl.SSLContext | None:
    if not options.authority:
        return None
    try:
        context = ssl.create_default_context(cafile=options.authority)
    except OSError as error:
        raise InputError("fleet.estimator.authority", f"{options.authority}: {error.strerror}") from None
    context.set_alpn_protocols(["h2"])
    if options.certificate:
        try:
            context.load_cert_chain(options.certificate, options.key or None)
        except OSError as error:
            files = " and ".join(filter(None, (options.certificate, options.key)))
            raise InputError("fleet.estimator.certificate", f"{files}: {error.strerror}") from None
    return context
