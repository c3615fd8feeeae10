"""A simulation as a source: nothing changes any more; the stage shows its first moment."""

from fairlead.web.replay import Replay
from fairlead.web.stage import ViewStage


class ReplaySource:
    """Shows the beginning; every other moment is asked for by its address."""

    live = False

    def __init__(self, replay: Replay, title: str) -> None:
        self.title = title
        self._replay = replay

    async def run(self, stage: ViewStage) -> None:
        """Show the first moment."""
        await stage.show(await self._replay.look("", 0))
