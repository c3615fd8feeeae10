"""Reviews that no API server would send."""

import json
import random
from collections.abc import Sequence
from typing import Any

JUNK: tuple[Any, ...] = (None, 0, -1, 1.5, True, "", "x", "٢", [], {}, [None], {"a": None}, "9" * 400)


def _mangled(value: Any, chance: random.Random) -> Any:
    """The value with something in it replaced, removed or put where it does not belong."""
    if chance.random() < 0.08:
        return chance.choice(JUNK)
    if isinstance(value, dict):
        return {key: _mangled(each, chance) for key, each in value.items() if chance.random() > 0.05}
    if isinstance(value, list):
        return [_mangled(each, chance) for each in value] * chance.choice((1, 1, 1, 2))
    return value


def fuzzed(chance: random.Random, seeds: Sequence[dict[str, Any]]) -> bytes:
    """The body of a review made of one of the seeds: mangled, and now and then cut off."""
    body = json.dumps(_mangled(chance.choice(seeds), chance)).encode()
    return body[: chance.randrange(len(body) + 1)] if chance.random() < 0.1 else body
