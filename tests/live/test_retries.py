"""What failed is tried again after a pause that grows with every failure in a row."""

from fairlead.kube.retry import Backoff
from fairlead.live.runtime.retries import Retries

PAUSES = Backoff(first=1.0, cap=3.0)


class Clock:
    """Seconds that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def made() -> tuple[Clock, Retries[str]]:
    clock = Clock()
    return clock, Retries(clock, lambda: 1.0)


def test_pauses_double_up_to_their_bound_and_end_once() -> None:
    """A key is in it until its pause is over, which is told once."""
    clock, retries = made()
    for seconds in (1.0, 2.0, 3.0, 3.0):
        retries.failed("a", PAUSES)
        assert "a" in retries
        assert retries.next == clock.now + seconds
        clock.now += seconds - 0.5
        assert retries.ended() == set()
        clock.now += 0.5
        assert (retries.ended(), retries.ended(), "a" in retries, retries.next) == ({"a"}, set(), False, None)


def test_success_begins_anew_and_a_new_reason_does_not() -> None:
    """Failures count until one of them was followed by a success."""
    clock, retries = made()
    retries.failed("a", PAUSES)
    retries.try_now("a")
    assert "a" not in retries
    retries.failed("a", PAUSES)
    assert retries.next == clock.now + 2.0
    retries.forget("a")
    assert "a" not in retries
    retries.failed("a", PAUSES)
    assert retries.next == clock.now + 1.0


def test_the_first_pause_to_end_is_next_and_all_can_be_forgotten() -> None:
    """Each key has a pause of its own."""
    clock, retries = made()
    retries.failed("a", PAUSES)
    retries.failed("a", PAUSES)
    retries.failed("b", PAUSES)
    assert retries.next == clock.now + 1.0
    clock.now += 1.0
    assert retries.ended() == {"b"}
    retries.clear()
    retries.failed("a", PAUSES)
    assert retries.next == clock.now + 1.0
