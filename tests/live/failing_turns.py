"""Turns of the queue level that fail on some object, as a defect of Fairlead would make them."""

from collections.abc import Callable
from typing import Any

import pytest

from fairlead.live.queue import contested_turn
from fairlead.model.queuestate import QueueState


def fail_turns(monkeypatch: pytest.MonkeyPatch, where: Callable[[QueueState], bool]) -> None:
    """Every turn on such a state raises an error; the others are taken."""
    composed = contested_turn.share_and_place

    def failing(state: QueueState, *rest: Any, **named: Any) -> Any:
        if where(state):
            raise ZeroDivisionError("no good")
        return composed(state, *rest, **named)

    monkeypatch.setattr(contested_turn, "share_and_place", failing)


def bad_queue(state: QueueState) -> bool:
    """Whether the queue `bad` takes part, and is not yet told to be unusable."""
    queues = state.queues
    return "bad" in queues.names and queues.names.index("bad") not in queues.faults
