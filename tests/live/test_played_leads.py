"""The proof's own account of who leads: from the kill of a leader to the first renewal of another."""

from typing import Any, cast

from tools.controlplane.api import Api

from tests.cluster.played.leads import Leads, takeovers
from tests.cluster.played.stopwatch import Stopwatch


def followed(*events: tuple[str, int, float]) -> Leads:
    """Instances by process id that start, hold the lease or are killed at a time."""
    found = Leads(cast(Api, None), "lease")
    for what, process, at in events:
        if what == "holds":
            found.see({"spec": {"holderIdentity": f"host_{process}_abc"}}, at)
        else:
            getattr(found, what)(process, at)
    return found


def test_takeover_is_counted_from_the_kill_of_the_leader_to_the_next_renewal() -> None:
    """A renewal of the dead one that is seen late ends nothing; the kill of a standby begins nothing."""
    found = followed(
        ("started", 1, 0), ("started", 2, 0), ("holds", 1, 1), ("killed", 1, 20), ("started", 3, 20),
        ("holds", 1, 20.1), ("holds", 2, 26), ("killed", 3, 30), ("holds", 2, 31),
    )  # fmt: skip
    assert takeovers(found.vacancies) == ([6.0], [])


def test_takeover_by_an_instance_that_had_just_begun_is_told_apart() -> None:
    """So is one before which the standby died as well."""
    found = followed(
        ("started", 1, 0), ("started", 2, 18), ("holds", 1, 1), ("killed", 1, 20), ("holds", 2, 28),
        ("started", 3, 28), ("killed", 2, 60), ("killed", 3, 62), ("started", 4, 62), ("holds", 4, 75),
    )  # fmt: skip
    assert takeovers(found.vacancies) == ([], [8.0, 15.0])


def scaled(replicas: int, placed: int) -> dict[str, Any]:
    clusters = [{"name": "m1", "replicas": placed}]
    return {"metadata": {"name": "web"}, "spec": {"replicas": replicas, "clusters": clusters}}


def test_step_is_led_unless_nobody_led_for_a_while_during_it() -> None:
    """Of the others the time since somebody led again is counted beside the whole."""
    leads = followed(("started", 1, 0), ("started", 2, 0), ("holds", 1, 1), ("killed", 1, 20), ("holds", 2, 26))
    watch = Stopwatch(cast(Api, None), "", leads)
    for at, replicas, placed in ((5, 3, 3), (10, 4, 3), (10.5, 4, 4), (22, 5, 4), (27, 5, 5), (40, 6, 5), (44, 6, 6)):
        watch.see(scaled(replicas, placed), at)
    assert (watch.led, watch.orphaned, watch.taken_over) == ([0.5, 4.0], [5.0], [1.0])
    assert len(watch.long) == 1
