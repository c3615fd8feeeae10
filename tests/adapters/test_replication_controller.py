"""ReplicationController: planned like a ReplicaSet."""

from pathlib import Path

from tests.adapters.cluster import answer, counts, made, template


def test_its_replicas_are_planned(tmp_path: Path) -> None:
    """Those that are missing; absent means one."""
    old = made("v1", "ReplicationController", {"replicas": 3, "template": template()}, "old")
    assert counts(answer(tmp_path, old, cpus=2)) == {"lab/old": (3, 1)}
    one = made("v1", "ReplicationController", {"template": template()}, "old")
    assert counts(answer(tmp_path, one)) == {"lab/old": (1, 0)}
