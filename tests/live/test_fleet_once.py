"""What the fleet scheduler works out once: the patch of a binding, and the clusters between two changes of them."""

from typing import Any

import pytest

from fairlead.kube.codec import members
from fairlead.kube.resources import CLUSTERS, RESOURCE_BINDINGS
from fairlead.live.fleet import report
from fairlead.live.fleet.component import Fleet
from tests.calls import counted
from tests.fake import FakeApi
from tests.live.test_fleet import NAMES, Stage, binding, play


def by_room(name: str, cpu: str) -> dict[str, Any]:
    """A binding that is divided by room, of replicas that ask for so much."""
    wanted = {"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}}
    requirements = {"resourceRequest": {"cpu": cpu}}
    return binding(name, placement=wanted, replicaRequirements=requirements)


def test_patch_of_a_binding_is_made_once_a_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    """It tells whether anything is to be written, and is then what is written."""

    async def act(api: FakeApi) -> None:
        patches, decisions = counted(monkeypatch, report, "spec_patch"), counted(monkeypatch, Fleet, "_act")
        for number in range(5):
            api.put(RESOURCE_BINDINGS, binding(f"b{number}"))
        stage = Stage(api)
        await stage.quiet()
        assert stage.patches() == {"spec": 5, "status": 5}
        assert patches["spec_patch"] == decisions["_act"] >= 5
        await stage.stop()

    play(act)


def test_clusters_are_read_once_a_change_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty bindings of two requests: traits of each cluster once, its room twice; after a change once more."""

    async def act(api: FakeApi) -> None:
        for name in NAMES:
            found = api.find(CLUSTERS, name)
            summary = {"allocatable": {"cpu": "100", "pods": "100"}}
            api.put(CLUSTERS, {**(found or {}), "status": {"resourceSummary": summary}})
        for number in range(20):
            api.put(RESOURCE_BINDINGS, by_room(f"b{number}", "1" if number % 2 else "2"))
        stage = Stage(api)
        await stage.quiet()
        calls = counted(monkeypatch, members, "traits_of", "_reported")
        api.put(CLUSTERS, {"metadata": {"name": "m5"}, "spec": {}})
        await stage.quiet()
        # The new cluster as it comes, then all five for the table.
        assert calls == {"traits_of": 1 + 5, "_reported": 1 + 2 * 5}
        calls.clear()
        for number in range(20):
            stage.change(f"b{number}", replicas=7)
        await stage.quiet()
        assert all(sum(stage.counts(f"b{number}").values()) == 7 for number in range(20))
        assert calls == {}
        await stage.stop()

    play(act)


def test_members_stay_members() -> None:
    """What was worked out for them is not worked out for a copy."""
    made = members.MemberClusters([members.unread_cluster("a")])
    assert members.MemberClusters.of(made) is made
    assert members.MemberClusters.of([*made]) == made
    assert made.traits is made.traits
    assert made.traits[0].unknown
    assert made.reported({}) == (None,)


def test_room_of_many_requests_is_forgotten_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more distinct requests are remembered than the bound says, and the answers stay right."""
    monkeypatch.setattr(members, "MOST_REQUESTS", 2)
    made = members.MemberClusters([members.unread_cluster("a")])
    for amount in (1, 2, 3, 1):
        assert made.reported({"cpu": amount}) == (None,)
        assert len(made._rooms) <= 2
