"""Leases and Events."""

from fairlead.kube.objects.meta import ApiShape, ObjectMeta, ObjectReference


class LeaseSpec(ApiShape, frozen=True):
    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int = 0


class Lease(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()


class EventSeries(ApiShape, frozen=True):
    count: int = 0
    last_observed_time: str | None = None


class Event(ApiShape, frozen=True):
    """An Event of events.k8s.io/v1."""

    metadata: ObjectMeta = ObjectMeta()
    event_time: str | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    regarding: ObjectReference = ObjectReference()
    related: ObjectReference | None = None
    note: str = ""
    type: str = ""
