"""Failures on purpose: rules that catch requests before or after they are acted upon."""

from collections.abc import Callable
from dataclasses import dataclass, field

from fairlead.kube.errors import UnreachableError
from fairlead.kube.transport import Response

Hook = Callable[[], None]


@dataclass(slots=True, kw_only=True)
class FaultRule:
    """Catches the next `times` requests of `method` ('' = any) whose path contains `path`."""

    method: str = ""
    path: str = ""
    times: int = 1
    answer: Response | None = None
    cut: bool = False
    after: bool = False
    hook: Hook | None = None

    def catches(self, method: str, path: str, *, after: bool) -> bool:
        if self.times <= 0 or self.after != after or self.path not in path or self.method not in ("", method):
            return False
        self.times -= 1
        return True


@dataclass(slots=True)
class Faults:
    """`down`: nothing is answered. `seconds`: how long every request takes."""

    rules: list[FaultRule] = field(default_factory=list)
    down: bool = False
    seconds: float = 0.0

    def meet(self, method: str, path: str, *, after: bool) -> Response | None:
        """Run the rules that catch this request: an answer of theirs, UnreachableError, or None to go on."""
        if self.down:
            raise UnreachableError(f"{method} {path}", "the fake is down", sent=after)
        for rule in self.rules:
            if not rule.catches(method, path, after=after):
                continue
            if rule.hook is not None:
                rule.hook()
            if rule.cut:
                raise UnreachableError(f"{method} {path}", "the connection was cut on purpose")
            if rule.answer is not None:
                return rule.answer
        return None
