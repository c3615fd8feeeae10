"""An event loop whose clock jumps to the next timer: hours pass in milliseconds, in exactly one order."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _JumpingSelector(selectors.SelectSelector):
    """Instead of waiting for a timer it lets the loop's clock jump there."""

    loop: "VirtualLoop"

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everything waits and no timer is set: this would hang for ever")
        self.loop.elapsed += max(timeout, 0.0)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.elapsed = 0.0
        selector = _JumpingSelector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return 1000.0 + self.elapsed


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` on a virtual clock that starts at 1000 s."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
