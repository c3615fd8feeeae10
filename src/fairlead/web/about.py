"""What the page has to know before it asks for anything else."""

from typing import Any

from fairlead import __version__
from fairlead.web.replay import Replay


def about_record(title: str, replay: Replay | None, *, live: bool) -> dict[str, Any]:
    """The version, the source, whether more may come, and the moments of a simulation."""
    return {
        "version": __version__,
        "title": title,
        "live": live,
        "simulation": replay.about() if replay else None,
    }
