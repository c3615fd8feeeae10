"""Verdicts written, many in flight: one write of the object where it changes, one of its status.

Every write names the version it was decided on. A faster writer wins, and the binding is decided anew.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import structlog

from fairlead.dataclass import dataclass
from fairlead.kube.client import Client
from fairlead.kube.decode import convert
from fairlead.kube.errors import ApiError, KubeError
from fairlead.kube.objects.karmada import ResourceBinding
from fairlead.kube.objects.meta import Raw
from fairlead.kube.resources import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS, Resource
from fairlead.kube.retry import Backoff
from fairlead.live.fleet import messages, report
from fairlead.live.fleet.decide import BindingVerdict
from fairlead.live.fleet.metrics import FleetMetrics
from fairlead.live.runtime.elected import Instance
from fairlead.live.runtime.outbox import Outbox, written

IN_FLIGHT = 32
"""More than this many writes at once only queue up inside the API server."""
ATTEMPTS = 6
BACKOFF = Backoff(first=0.02, cap=1.0)
DENIED = "denied the request"
"""How the API server begins to tell what an admission webhook said."""
QUOTA = "FederatedResourceQuota"

log = structlog.get_logger("fleet")


def resource_of(binding: ResourceBinding) -> Resource[ResourceBinding]:
    """Bindings without a namespace are those of the whole fleet."""
    return RESOURCE_BINDINGS if binding.metadata.namespace else CLUSTER_RESOURCE_BINDINGS


@dataclass(frozen=True, slots=True)
class BindingWrite:
    """A verdict that is not written yet. `patch` is that of the object, None where only its status changes.

    `field`: the status of such a binding holds the last result.
    """

    verdict: BindingVerdict
    patch: Raw | None
    field: bool


class BindingWriter:
    """Sends the writes put into `outbox`.

    `done(verdict, newest, error)` is told of each: the object as it is now, or why it was not written.
    """

    def __init__(
        self,
        instance: Instance,
        measures: FleetMetrics,
        done: Callable[[BindingVerdict, ResourceBinding | None, KubeError | None], None],
    ) -> None:
        self.has_field: dict[str, bool] = {}
        self._client = instance.client
        self._measures = measures
        self._done = done
        self._wall = instance.wall
        self._leads = instance.leads
        self.outbox: Outbox[BindingWrite] = Outbox(
            self._send,
            in_flight=IN_FLIGHT,
            name="bindings",
            pulse=instance.pulse,
            given_up=lambda write: done(write.verdict, None, None),
        )

    def write_of(self, verdict: BindingVerdict) -> BindingWrite | None:
        """What is to be written; None where the binding is as the verdict says."""
        field = self.has_field.get(resource_of(verdict.binding).plural, False)
        patch = report.spec_patch(verdict, field=field)
        if patch is None and report.status_is_right(verdict, field=field):
            return None
        return BindingWrite(verdict, patch, field)

    async def _send(self, write: BindingWrite) -> None:
        newest: ResourceBinding | None = None
        error: KubeError | None = None
        if self._leads():
            newest, error = await written(self._write(write), self._measures.refusals)
        self._done(write.verdict, newest, error)

    async def _write(self, write: BindingWrite) -> ResourceBinding:
        verdict, binding = write.verdict, write.verdict.binding
        found = report.as_found(binding)
        if write.patch is not None:
            try:
                found = await self._patch(binding, write.patch)
            except ApiError as error:
                await self._tell_refusal(verdict, error)
                raise
            self._measures.writes.labels("spec").inc()
        found = await self._write_status(verdict, found, write.field)
        self._measures.writes.labels("status").inc()
        # As the watch reads it: a null counts as absent, and what cannot be read ends with its binding.
        return convert(found, ResourceBinding, resource_of(binding).label)

    async def _tell_refusal(self, verdict: BindingVerdict, error: ApiError) -> None:
        """A webhook that denies the write, such as the one for quotas, is told in the condition."""
        if DENIED not in error.message:
            return
        reason = messages.QUOTA_EXCEEDED if QUOTA in error.message else messages.SCHEDULER_ERROR
        refused = replace(verdict, reason=reason, message=error.message, counts=None)
        if not report.status_is_right(refused, field=False):
            await self._write_status(refused, report.as_found(verdict.binding), field=False)
            self._measures.writes.labels("status").inc()

    async def _write_status(self, verdict: BindingVerdict, found: Raw, field: bool) -> Raw:
        """The status on top of whatever others made of it meanwhile."""
        binding = verdict.binding
        generation = int(found["metadata"]["generation"])
        for attempt in range(1, ATTEMPTS + 1):
            patch = report.status_patch(verdict, found, generation, self._wall(), field=field)
            try:
                return await self._patch(binding, patch, subresource="status")
            except ApiError as error:
                if not error.conflict or attempt == ATTEMPTS:
                    raise
            await self._client.sleep(BACKOFF.wait(attempt, self._client.jitter))
            found = await self._client.get(
                resource_of(binding).raw, binding.metadata.name, namespace=binding.metadata.namespace
            )
            if not _is_still(binding, found):
                raise ApiError(409, "Conflict", "another object by now, or no longer to be scheduled by this one")
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _patch(self, binding: ResourceBinding, patch: Raw, **more: Any) -> Raw:
        meta = binding.metadata
        return await self._client.patch(
            resource_of(binding).raw, meta.name, patch, namespace=meta.namespace, kind="merge", **more
        )


def _is_still(binding: ResourceBinding, found: Raw) -> bool:
    """Whether the object found is that binding, not given to another scheduler, suspended or deleted meanwhile."""
    meta, spec = found["metadata"], found.get("spec") or {}
    suspended = (spec.get("suspension") or {}).get("scheduling", False)
    same = (meta["uid"], spec.get("schedulerName", "")) == (binding.metadata.uid, binding.spec.scheduler_name)
    return same and not suspended and not meta.get("deletionTimestamp")


async def result_fields(client: Client, crds: Resource[Any]) -> dict[str, bool]:
    """Which of the two kinds have the last result in their status, by their definitions.

    Where a definition may not be read the annotation is used, which is always right.
    """
    return {
        each.plural: await _has_field(client, crds, each) for each in (RESOURCE_BINDINGS, CLUSTER_RESOURCE_BINDINGS)
    }


async def _has_field(client: Client, crds: Resource[Any], resource: Resource[Any]) -> bool:
    try:
        found = await client.get(crds.raw, resource.label)
    except ApiError as error:
        if error.forbidden or error.not_found:
            log.info("the definition cannot be read; last results go to an annotation", resource=resource.label)
            return False
        raise
    for version in found["spec"]["versions"]:
        if version["name"] == resource.version:
            schema = version.get("schema", {}).get("openAPIV3Schema", {})
            status = schema.get("properties", {}).get("status", {})
            return report.RESULT in status.get("properties", {})
    return False
