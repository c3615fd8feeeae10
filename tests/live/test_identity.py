"""Keys of jobs are built and taken apart in one place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.codec.queues import QueueFields
from fairlead.live.cluster.identity import JobSource, group_job, group_key, group_of_job, pod_job

NAMES = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?(\.[a-z0-9]{1,4})?", fullmatch=True)


@given(st.sampled_from([JobSource.GROUP, JobSource.NATIVE]), NAMES, NAMES)
def test_group_is_found_again_from_its_job(source: JobSource, namespace: str, name: str) -> None:
    """Whatever the namespace and the name."""
    assert group_of_job(group_job((source, namespace, name))) == (source, namespace, name)


@pytest.mark.parametrize(
    ("fields", "job", "group"),
    [
        (QueueFields(group="g", native="n", queue="q"), "PodGroup/ns/g", (JobSource.GROUP, "ns", "g")),
        (QueueFields(native="n", queue="q"), "NativePodGroup/ns/n", (JobSource.NATIVE, "ns", "n")),
        (QueueFields(queue="q"), "ReplicaSet/ns/web@q", None),
        (QueueFields(), "ReplicaSet/ns/web", None),
    ],
    ids=["Volcano's group first", "Kubernetes' own group", "a queue on the pods", "a controller"],
)
def test_job_of_a_pod(fields: QueueFields, job: str, group: tuple[JobSource, str, str] | None) -> None:
    """Pods of one controller in two queues are two jobs; a job without a group has none to look up."""
    assert (pod_job("ReplicaSet/ns/web", "ns", fields), group_key("ns", fields)) == (job, group)
    assert group_of_job(pod_job("ReplicaSet/ns/web", "ns", fields)) == group
