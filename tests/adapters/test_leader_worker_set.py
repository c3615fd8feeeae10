"""LeaderWorkerSet: each group of a leader and its workers is a gang."""

from pathlib import Path

from tests.adapters.cluster import answer, counts, made, template


def test_groups_start_one_by_one_and_each_whole(tmp_path: Path) -> None:
    """Two groups of three cores on a node of five: one starts, the other waits as a whole."""
    spec = {"replicas": 2, "leaderWorkerTemplate": {"size": 3, "workerTemplate": template()}}
    record = answer(tmp_path, made("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec, "llm"), cpus=5)
    waits = counts(record)
    assert waits["lab/llm-0-leader"][1] + waits["lab/llm-0-workers"][1] in (0, 3)
    assert sum(each for _, each in waits.values()) == 3
    assert {name: asked for name, (asked, _) in waits.items()} == {
        "lab/llm-0-leader": 1, "lab/llm-0-workers": 2, "lab/llm-1-leader": 1, "lab/llm-1-workers": 2,
    }  # fmt: skip
