"""HorizontalPodAutoscaler: what if it goes to its maximum?"""

from pathlib import Path

from tests.adapters.cluster import answer, made, template


def test_scale_hpa_max_asks_for_the_maximum(tmp_path: Path) -> None:
    """Two replicas fit; at eight, four of them wait on four cores."""
    web = made("apps/v1", "Deployment", {"replicas": 2, "template": template()}, "web")
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 8}
    scaler = made("autoscaling/v2", "HorizontalPodAutoscaler", spec, "web")
    assert answer(tmp_path, web, scaler, cpus=4)["unplaced"] == 0
    record = answer(tmp_path, web, scaler, cpus=4, more=["--scale-hpa", "max"])
    assert record["unplaced"] == {"before": 0, "after": 4}
    small = answer(tmp_path, web, scaler, cpus=4, more=["--scale-hpa", "min"])
    assert small["plan"]["sites"][0]["workloads"][0]["replicas"] == 1
