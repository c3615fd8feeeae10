"""The scheduler's spans as OpenTelemetry records them. Imported only where spans are on."""

from collections.abc import Callable, Sequence

from opentelemetry.trace import Span, Tracer, set_span_in_context

from fairlead.live.cluster.pod_sets import PodSetOutcome
from fairlead.live.cluster.records import PodRecord
from fairlead.live.runtime.otel_spans import NOWHERE, RecordedObjectSpans
from fairlead.live.scheduler.spans import Spans


class RecordedSpans(Spans):
    """Records them. `job_of` gives the job of a pod: its PodGroup, or its controller."""

    def __init__(self, tracer: Tracer, job_of: Callable[[PodRecord], str]) -> None:
        self.pods = self._pods = RecordedObjectSpans(tracer, "pod", "bind")
        self._tracer = tracer
        self._job_of = job_of
        self._cycle: Span | None = None
        self._group: Span | None = None
        self._since = self._pods.began

    def cycle(self) -> None:
        self._pods.round()
        self._cycle = self._tracer.start_span("cycle", NOWHERE, start_time=self._pods.began)

    def deciding(self) -> None:
        self._since = self._pods.now()

    def decided(self, outcome: PodSetOutcome) -> None:
        if self._cycle is not None:
            within = set_span_in_context(self._cycle, NOWHERE)
            self._group = self._tracer.start_span("group", within, start_time=self._since)
            if self._group.is_recording():
                self._group.set_attributes(_of_group(outcome))
                self._group.set_attribute("fairlead.job", self._job_of(outcome.group.pods[0]))
            self._group.end(self._pods.now())

    def placed(self, pod: PodRecord, node: str) -> None:
        link = None if self._group is None else self._group.get_span_context()
        self._pods.decided(pod.metadata.uid, lambda: self._of_pod(pod, node), link)

    def _of_pod(self, pod: PodRecord, node: str) -> dict[str, str]:
        meta = pod.metadata
        return {
            "k8s.namespace.name": meta.namespace,
            "k8s.pod.name": meta.name,
            "k8s.pod.uid": meta.uid,
            "k8s.node.name": node,
            "fairlead.controller": pod.controller,
            "fairlead.job": self._job_of(pod),
        }

    def over(self, outcomes: Sequence[PodSetOutcome], *, shared: bool) -> None:
        # A cycle that found nothing to decide is not ended, so it is not exported.
        if self._cycle is not None and outcomes:
            self._cycle.set_attributes(
                {
                    "fairlead.groups": len(outcomes),
                    "fairlead.placed": sum(len(each.placed) for each in outcomes),
                    "fairlead.waiting": sum(len(each.waiting) for each in outcomes),
                    "fairlead.queue_turn": shared,
                }
            )
            self._cycle.end(self._pods.now())
        self._cycle = self._group = None


def _of_group(outcome: PodSetOutcome) -> dict[str, str | int | list[str]]:
    """In the words of OpenTelemetry's conventions where it has them. Codes are those of docs/reference."""
    found: dict[str, str | int | list[str]] = {
        "k8s.namespace.name": outcome.group.pods[0].metadata.namespace,
        "fairlead.controller": outcome.group.controller,
        "fairlead.nodes": outcome.considered,
        "fairlead.placed": len(outcome.placed),
        "fairlead.waiting": len(outcome.waiting),
    }
    if outcome.waiting:
        found["fairlead.reasons"] = [each.reason.code for each in outcome.rejected]
        if outcome.finding is not None:
            found["fairlead.finding"] = outcome.finding.code
    return found
