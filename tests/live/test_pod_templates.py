"""Records of pods of one template are copied from the first of them, and are what they would be on their own."""

from typing import Any

import msgspec
import pytest

from fairlead.kube.codec import memo
from fairlead.kube.objects.pod import Pod
from fairlead.live.cluster import records
from fairlead.live.cluster.records import Records, template_key
from tests.calls import counted

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs-1", "controller": True}
CONTAINER = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "100m"}}}
TOKEN = {"name": "token-1", "projected": {}}


def _pod(meta: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, **status: Any) -> Pod:
    whole = {
        "metadata": {"name": "p0", "namespace": "shop", "uid": "u0", "labels": {"app": "web"}} | (meta or {}),
        "spec": {"schedulerName": "fairlead", "containers": [CONTAINER], "volumes": [TOKEN]} | (spec or {}),
        "status": status,
    }
    return msgspec.convert(whole, Pod)


def _notes(**annotations: str) -> dict[str, Any]:
    return {"annotations": {name.replace("_", "/", 1).replace("_", "-"): text for name, text in annotations.items()}}


ALIKE: dict[str, Pod] = {
    "another name and version": _pod({"name": "p1", "uid": "u1", "resourceVersion": "9"}),
    "another node": _pod(spec={"nodeName": "n1"}),
    "another age": _pod({"creationTimestamp": "2026-01-01T00:00:00Z"}),
    "on its way out": _pod({"deletionTimestamp": "2026-01-01T00:00:00Z"}),
    "succeeded": _pod(phase="Succeeded"),
    "failed": _pod(phase="Failed"),
    "nominated": _pod(nominatedNodeName="n2"),
    "a token of another name": _pod(spec={"volumes": [{"name": "token-2", "secret": {}}]}),
    "an annotation that nobody reads": _pod({"annotations": {"cni/podIP": "10.0.0.1"}}),
    "a resize under way": _pod(
        containerStatuses=[{"name": "c", "resources": {"requests": {"cpu": "300m"}}}],
        conditions=[{"type": "PodResizeInProgress", "status": "True"}],
    ),
}
OTHERS: dict[str, Pod] = {
    "an owner": _pod({"ownerReferences": [OWNER]}),
    "another namespace": _pod({"namespace": "bank"}),
    "another scheduler": _pod(spec={"schedulerName": "default-scheduler"}),
    "another priority": _pod(spec={"priority": 7, "priorityClassName": "high", "preemptionPolicy": "Never"}),
    "a very large priority": _pod(spec={"priority": 2**70}),
    "another request": _pod(spec={"containers": [CONTAINER | {"resources": {"requests": {"cpu": "2"}}}]}),
    "a gate": _pod(spec={"schedulingGates": [{"name": "wait"}]}),
    "a strategy": _pod(_notes(**{"fairlead.io_strategy": "communism"})),
    "a strategy that is none": _pod(_notes(**{"fairlead.io_strategy": "feudalism"})),
    "a PodGroup": _pod(_notes(**{"scheduling.k8s.io_group_name": "gang"})),
    "a native PodGroup": _pod(spec={"schedulingGroup": {"podGroupName": "gang"}}),
    "a queue": _pod(_notes(**{"volcano.sh_queue_name": "q"})),
    "a request that cannot be read": _pod(spec={"containers": [CONTAINER | {"resources": {"requests": {"cpu": "?"}}}]}),
}
APART = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "matchLabelKeys": ["app"]}]}
LABELLED: dict[str, Pod] = {
    "another label": _pod({"labels": {"app": "db"}}),
    "one more label": _pod({"labels": {"app": "web", "run": "r1"}}),
    "no label": _pod({"labels": {}}),
    "a queue named by a label": _pod({"labels": {"app": "web", "volcano.sh/queue-name": "q"}}),
    "not to be evicted, by a label": _pod({"labels": {"volcano.sh/preemptable": "false"}}),
    "of the same owner": _pod({"ownerReferences": [OWNER], "labels": {"run": "r1"}}),
    "a wish that reads its labels": _pod({"labels": {"app": "db"}}, {"affinity": {"podAntiAffinity": APART}}),
    "a request that cannot be read": _pod(
        {"labels": {"app": "db"}}, {"containers": [CONTAINER | {"resources": {"requests": {"cpu": "?"}}}]}
    ),
}
"""Pods that differ from one of their template in labels."""
ALONE: dict[str, Pod] = {
    "a claim": _pod(spec={"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}),
    "a volume made for it": _pod(spec={"volumes": [{"name": "v", "ephemeral": {}}]}),
    "a disk": _pod(spec={"volumes": [{"name": "v", "awsElasticBlockStore": {"volumeID": "vol-1"}}]}),
    "bound cores": _pod(_notes(**{"fairlead.io_bind_cpu": "true"})),
    "a time to cool": _pod(_notes(**{"volcano.sh_cooldown_time": "10m"})),
    "a label of that name": _pod({"labels": {"volcano.sh/cooldown-time": "10m"}}),
}


@pytest.mark.parametrize("pod", [*ALIKE.values(), *OTHERS.values(), *ALONE.values()], ids=[*ALIKE, *OTHERS, *ALONE])
def test_record_is_what_it_would_be_on_its_own(pod: Pod) -> None:
    """Whatever pods came before, of the same template or of another."""
    made = Records()
    made.record(_pod())
    assert made.record(pod) == Records().record(pod)
    assert made.record(pod) == Records().record(pod)
    assert made.record(_pod()) == Records().record(_pod())


@pytest.mark.parametrize("pod", LABELLED.values(), ids=LABELLED)
def test_record_of_other_labels_is_what_it_would_be_on_its_own(pod: Pod) -> None:
    """What is copied from a pod of other labels depends on none: looks, queue and narrowed wishes are made anew."""
    made = Records()
    first = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, labels={"app": "web"}))
    assert made.record(first) == Records().record(first)
    assert template_key(pod) == template_key(first)
    assert made.record(pod) == Records().record(pod)
    assert made.record(pod).shape is made.record(pod).shape


def test_which_pods_are_of_one_template() -> None:
    """Those that differ in what each pod has of its own; pods with volumes that count and bound cores are never."""
    key = template_key(_pod())
    assert key
    assert {template_key(pod) for pod in ALIKE.values()} == {key}
    others = {template_key(pod) for pod in OTHERS.values()}
    assert len(others) == len(OTHERS)
    assert not others & {key, b""}
    assert {template_key(pod) for pod in ALONE.values()} == {b""}


def test_templates_remembered_are_bounded() -> None:
    """Pods that are each of their own template, such as those of StatefulSets, take no memory for ever."""
    made = Records(most=32)
    for row in range(34):
        made.record(_pod({"labels": {"row": str(row)}}))
    (family,) = made._first.values()
    assert len(family) == 2
    for row in range(31):
        made.record(_pod({"namespace": str(row)}))
    assert len(made._first) == 1


def test_spec_of_a_pod_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its template is looked up by its text; only the first pod of a template is encoded once more, for its shape."""
    keys, texts = counted(monkeypatch, records, "template_key"), counted(monkeypatch, memo, "looks")
    made = Records()
    for row in range(10):
        made.record(_pod({"name": f"p{row}"}))
        made.record(ALONE["a claim"])
    assert (keys, texts) == ({"template_key": 20}, {"looks": 11})
