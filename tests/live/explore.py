"""A small model checker: all states that a system can reach, breadth first, and whether each can come to rest."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

State = TypeVar("State", bound=Hashable)


@dataclass(frozen=True)
class Explored(Generic[State]):
    """Every reachable state with the states it was reached from."""

    reached_from: dict[State, list[State]]

    def can_reach(self, goal: Callable[[State], bool]) -> set[State]:
        """The states from which some run leads to the goal."""
        found = {state for state in self.reached_from if goal(state)}
        queue = deque(found)
        while queue:
            for before in self.reached_from[queue.popleft()]:
                if before not in found:
                    found.add(before)
                    queue.append(before)
        return found


def explore(
    start: State, successors: Callable[[State], Iterable[State]], check: Callable[[State], None]
) -> Explored[State]:
    """Visit everything reachable from `start`; `check` raises where a state breaks a promise."""
    reached_from: dict[State, list[State]] = {start: []}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        check(state)
        for after in successors(state):
            if after not in reached_from:
                reached_from[after] = []
                queue.append(after)
            reached_from[after].append(state)
    return Explored(reached_from)
