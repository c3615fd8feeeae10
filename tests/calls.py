"""Calls that are counted: what is worked out once is shown by how often, never by how long."""

from collections import Counter
from typing import Any

import pytest


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, *names: str) -> Counter[str]:
    """How often functions of a module are called from now on."""
    calls: Counter[str] = Counter()
    for name in names:
        real = getattr(module, name)

        def call(*args: Any, real: Any = real, name: str = name, **named: Any) -> Any:
            calls[name] += 1
            return real(*args, **named)

        monkeypatch.setattr(module, name, call)
    return calls
