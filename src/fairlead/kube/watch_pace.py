"""How often a watch is renewed, tried again and given up."""

from dataclasses import field

from fairlead.dataclass import dataclass
from fairlead.kube.retry import Backoff


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchPace:
    """Seconds. A watch is renewed after `renew` to twice that; an absent resource is looked for every `absent`.

    A watch that brings neither an event nor a bookmark for `silence` is opened anew: the API server sends a bookmark
    every minute. One that lasts for `steady` ends a series of expired versions.
    """

    backoff: Backoff = field(default_factory=lambda: Backoff(first=0.2, cap=30.0))
    renew: int = 240
    absent: float = 10.0
    silence: float = 120.0
    steady: float = 30.0


PACE = WatchPace()
