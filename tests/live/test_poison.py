"""Poisonous objects beside ordinary work, on a fake API server: every component goes on, and each poison is named."""

import asyncio

import pytest

from tests.kube.virtual import run
from tests.poison.objects import Told
from tests.poison.table import NESTED, TABLE
from tests.poison.town import Town

HERE = {label: each for label, each in TABLE.items() if label != NESTED}


@pytest.mark.parametrize("label", HERE)
def test_poison_ends_with_itself_and_is_named(label: str) -> None:
    """The components go on, work that comes after it is done, and people are told what is wrong."""

    async def main() -> None:
        town = Town()
        await asyncio.sleep(5)
        for made in HERE[label].objects:
            town.put(made)
        await asyncio.sleep(30)
        wanted = [*HERE[label].told, *town.ordinary(1)]
        await asyncio.sleep(120)
        assert town.failed() == {}
        assert [each for each in wanted if not town.holds(each)] == []
        await town.stop()

    run(main())


def test_all_poisons_together_stop_nothing() -> None:
    """One after the other in one town, ordinary work beside each."""

    async def main() -> None:
        town = Town()
        wanted: list[Told] = []
        for number, each in enumerate(HERE.values(), 1):
            for made in each.objects:
                town.put(made)
            wanted += town.ordinary(number)
            await asyncio.sleep(10)
            assert town.failed() == {}
        await asyncio.sleep(300)
        assert town.failed() == {}
        assert [each for each in wanted if not town.holds(each)] == []
        await town.stop()

    run(main())
