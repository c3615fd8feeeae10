"""Files as a source: read, planned, and read again when one of them changes."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from fairlead.engine.collector import held
from fairlead.engine.plan import plan
from fairlead.engine.plan_settings import DEFAULT_SETTINGS, PlanSettings
from fairlead.kube.manifests.catalogue import Catalogue
from fairlead.kube.manifests.load import SUFFIXES
from fairlead.kube.manifests.view import viewed
from fairlead.model.errors import InputError
from fairlead.model.snapshot import Snapshot
from fairlead.web.stage import ViewStage, failure_of
from fairlead.web.views import Look

PAUSE_S = 1.0
"""Between two looks at the files."""


class FileSource:
    """Manifests, directories and snapshots. A file that cannot be read is shown with its place; the rest is drawn."""

    live = True

    def __init__(
        self,
        sources: Sequence[str],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        settings: PlanSettings = DEFAULT_SETTINGS,
    ) -> None:
        for each in sources:
            if not Path(each).exists():
                raise InputError(each, "no such file or directory")
        self.title = ", ".join(sources)
        self._sources = tuple(sources)
        self._sleep, self._settings = sleep, settings

    async def run(self, stage: ViewStage) -> None:
        """Show the files, and again whenever they change."""
        seen = None
        while True:
            stamp = await asyncio.to_thread(self._stamp)
            if stamp != seen:
                seen = stamp
                await self.show(stage)
            await self._sleep(PAUSE_S)

    async def show(self, stage: ViewStage) -> None:
        """The nodes first, then the plan."""
        try:
            found, view = await asyncio.to_thread(self._read)
            look = Look(title=self.title, found=found, view=view)
            await stage.show(look)
            decided = await asyncio.to_thread(plan, view)
            await stage.show(Look(title=self.title, found=found, view=view, decided=decided))
        except Exception as error:
            # A defect ends with this state of the files: the next one is planned again.
            await stage.show(Look(title=self.title, trouble=failure_of(error)))

    def _read(self) -> tuple[Catalogue, Snapshot]:
        """The files; millions of new objects without a cycle among them are no work for the collector."""
        with held():
            return viewed(self._sources, settings=self._settings)

    def _stamp(self) -> tuple[tuple[str, int, int], ...]:
        """Every file with its time and size."""
        files: list[Path] = []
        for each in map(Path, self._sources):
            files += [each] if each.is_file() else [path for path in each.rglob("*") if path.suffix in SUFFIXES]
        found = []
        for file in sorted(files):
            try:
                status = file.stat()
            except OSError:
                continue  # it went away between the list and the look
            found.append((str(file), status.st_mtime_ns, status.st_size))
        return tuple(found)
