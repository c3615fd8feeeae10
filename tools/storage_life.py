"""A long random life of a storage cluster under three rules, side by side: `python -m tools.storage_life`.

Volumes are created, written, grown and deleted, and disks are added; every rule meets the same events. Most-free takes
the disk with the most (available − reserved). The bare score takes the lowest (max − min)/mean, first over nodes and
then over all candidate disks, and leaves ties to chance. Balance is Fairlead's rule. Writes a plot and prints a table.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from random import Random

from fairlead.levels.disk.balance import balance
from fairlead.levels.disk.score import imbalance
from fairlead.model.balancing import BalancePolicy, DiskRule
from fairlead.model.disks import Disk, DiskTable, disk_table
from fairlead.model.storage import StorageVolume

GIB = 2**30
RULES = ("most-free", "bare score", "balance")
FULL = 0.4
"""The share of the capacity that volumes ask for, once the cluster has grown up."""
PLOT = Path("docs/levels/disk-life.svg")


@dataclass(slots=True)
class Store:
    """A disk of the simulation: what volumes were promised, and what they have written."""

    node: str
    name: str
    maximum: int
    promised: int = 0
    written: int = 0

    def disk(self) -> Disk:
        """As the level sees it: usable = available − scheduled, with nothing reserved."""
        free = self.maximum - self.written
        usable = max(free - self.promised, 0)
        return Disk(node=self.node, name=self.name, usable_bytes=usable, free_bytes=free, total_bytes=self.maximum)


@dataclass(slots=True)
class World:
    """One rule's cluster. `homes`: for each living volume its size, the share written, and its disks."""

    rule: str
    chance: Random
    stores: list[Store]
    homes: dict[int, tuple[int, float, list[Store]]] = field(default_factory=dict)
    refused: int = 0
    nodes: list[float] = field(default_factory=list)
    disks: list[float] = field(default_factory=list)

    def create(self, number: int, size: int, replicas: int, written: float) -> None:
        """Place a volume's replicas; those that find no disk are counted."""
        table = disk_table([store.disk() for store in self.stores])
        by_place = {f"{store.node}/{store.name}": store for store in self.stores}
        chosen = [by_place[place] for place in self._choose(table, size, replicas)]
        self.refused += replicas - len(chosen)
        self.homes[number] = (size, 0.0, [])
        for store in chosen:
            store.promised += size
        self.homes[number] = (size, 0.0, chosen)
        self.write(number, written)

    def _choose(self, table: DiskTable, size: int, replicas: int) -> list[str]:
        if self.rule == "bare score":
            return bare_score(table, size, replicas, self.chance)
        rule = DiskRule.BALANCE if self.rule == "balance" else DiskRule.MOST_FREE
        decision = balance(
            [StorageVolume(name="v", size_bytes=size, replicas=replicas)], table, BalancePolicy(rule=rule)
        )
        return [f"{each.node}/{each.disk}" for each in decision.placed]

    def write(self, number: int, share: float) -> None:
        """The volume's replicas are filled up to `share` of its size."""
        size, before, stores = self.homes[number]
        for store in stores:
            store.written += int(size * share) - int(size * before)
        self.homes[number] = (size, share, stores)

    def delete(self, number: int) -> None:
        """The volume goes, and all it held."""
        size, share, stores = self.homes.pop(number)
        for store in stores:
            store.promised -= size
            store.written -= int(size * share)

    def measure(self) -> None:
        """Note the imbalance of nodes, and of all disks, by usable space."""
        table = disk_table([store.disk() for store in self.stores])
        sums: dict[int, int] = {}
        for node, usable in zip(table.node_of.tolist(), table.usable_bytes.tolist(), strict=True):
            sums[node] = sums.get(node, 0) + usable
        self.nodes.append(_spread(list(sums.values())))
        self.disks.append(float(imbalance(table.usable_bytes, table.total_bytes, Fraction(1))[0]))


def bare_score(table: DiskTable, size: int, replicas: int, chance: Random) -> list[str]:
    """The proposal's rule with nothing added: lowest score, ties by chance, a node by its sum, disks over all."""
    usable = table.usable_bytes.tolist()
    node_of = table.node_of.tolist()
    used: set[int] = set()
    places = []
    for _ in range(replicas):
        rows = [row for row in range(len(table)) if node_of[row] not in used and usable[row] >= size]
        if not rows:
            break
        sums: dict[int, int] = {}
        for row in rows:
            sums[node_of[row]] = sums.get(node_of[row], 0) + usable[row]
        node = _lowest(sums, list(sums), size, chance)
        row = _lowest({row: usable[row] for row in rows}, [row for row in rows if node_of[row] == node], size, chance)
        usable[row] -= size
        used.add(node)
        places.append(table.place(row))
    return places


def _lowest(values: dict[int, int], among: Sequence[int], size: int, chance: Random) -> int:
    ranges = {}
    for key in among:
        after = [value - size if each == key else value for each, value in values.items()]
        ranges[key] = max(after) - min(after)  # the mean is the same for all
    least = min(ranges.values())
    return chance.choice([key for key in among if ranges[key] == least])


def _spread(values: Sequence[int]) -> float:
    mean = sum(values) / len(values)
    return (max(values) - min(values)) / mean if mean else 0.0


def live(events: int, nodes: int, seed: int) -> list[World]:
    """All worlds after the same events."""
    chance = Random(seed)
    sizes = {f"n{row}": [chance.choice((500, 1000, 2000)) * GIB for _ in range(3)] for row in range(nodes)}
    worlds = [
        World(
            rule,
            Random(seed),
            [Store(node, f"d{row}", size) for node, own in sizes.items() for row, size in enumerate(own)],
        )
        for rule in RULES
    ]
    capacity = sum(size for own in sizes.values() for size in own)
    living: dict[int, int] = {}
    for number in range(events):
        happen = _event(chance, number, events, living, nodes, capacity)
        for world in worlds:
            happen(world)
            world.measure()
    return worlds


def _event(
    chance: Random, number: int, events: int, living: dict[int, int], nodes: int, capacity: int
) -> Callable[[World], None]:
    """What happens next, the same for all worlds. `living`: volume to bytes asked for; kept near FULL of `capacity`."""
    if number in (events // 3, 2 * events // 3):
        node, size = f"n{chance.randrange(nodes)}", 2000 * GIB
        return lambda world: world.stores.append(Store(node, f"added{number}", size))
    roll = chance.random()
    if living and roll < (0.45 if sum(living.values()) > FULL * capacity else 0.1):
        gone = chance.choice(sorted(living))
        del living[gone]
        return lambda world: world.delete(gone)
    if living and roll < 0.6:
        grown, share = chance.choice(sorted(living)), chance.random()
        return lambda world: world.write(grown, max(share, world.homes[grown][1]))
    size, replicas, share = chance.choice((5, 10, 20, 50, 100)) * GIB, chance.choice((1, 2, 3)), chance.random() / 2
    living[number] = size * replicas
    return lambda world: world.create(number, size, replicas, share)


def table_text(lives: Sequence[Sequence[World]]) -> str:
    """Means over whole lives, as a Markdown table."""
    lines = [
        "| rule | nodes: mean imbalance | nodes: worst tenth from | disks: mean imbalance | replicas refused |",
        "|---|---|---|---|---|",
    ]
    for worlds in zip(*lives, strict=True):
        nodes = [value for world in worlds for value in world.nodes]
        disks = [value for world in worlds for value in world.disks]
        tenth = sorted(nodes)[len(nodes) * 9 // 10]
        means = [sum(values) / len(values) for values in (nodes, disks)]
        refused = sum(world.refused for world in worlds)
        lines.append(f"| {worlds[0].rule} | {means[0]:.3f} | {tenth:.3f} | {means[1]:.3f} | {refused} |")
    return "\n".join(lines)


def plot(worlds: Sequence[World], width: int = 760, height: int = 320) -> str:
    """The imbalance of the nodes over the life, as an SVG of lines."""
    left, bottom, top = 48, height - 36, 24
    most = max(max(_smooth(world.nodes)) for world in worlds) or 1.0
    colours = ("#c0504d", "#9a8c2c", "#1f6f8b")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{left}" y="14">imbalance of the nodes, (max − min)/mean of usable space</text>',
    ]
    for step in range(5):
        value = most * step / 4
        y = bottom - (bottom - top) * step / 4
        parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{width - 12}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.2f}</text>')
    for row, (world, colour) in enumerate(zip(worlds, colours, strict=True)):
        values = _smooth(world.nodes)
        pace = (width - 12 - left) / max(len(values) - 1, 1)
        points = " ".join(
            f"{left + pace * at:.1f},{bottom - (bottom - top) * value / most:.1f}" for at, value in enumerate(values)
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(f'<text x="{left + 150 * row}" y="{height - 10}" fill="{colour}">{world.rule}</text>')
    parts.append(f'<text x="{width - 12}" y="{height - 10}" text-anchor="end">events →</text></svg>')
    return "\n".join(parts) + "\n"


def _smooth(values: Sequence[float], points: int = 200) -> list[float]:
    """Means of equal stretches, so that the line can be read."""
    stretch = max(len(values) // points, 1)
    chunks = [values[at : at + stretch] for at in range(0, len(values), stretch)]
    return [sum(chunk) / len(chunk) for chunk in chunks]


def main(arguments: Sequence[str]) -> int:
    """Run, write the plot, print the table."""
    parser = argparse.ArgumentParser(prog="python -m tools.storage_life", description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=3000)
    parser.add_argument("--nodes", type=int, default=12)
    parser.add_argument("--lives", type=int, default=3, help="clusters with other disks and other events")
    parser.add_argument("--plot", type=Path, default=PLOT)
    options = parser.parse_args(arguments)
    lives = [live(options.events, options.nodes, seed) for seed in range(1, options.lives + 1)]
    options.plot.write_text(plot(lives[0]), encoding="utf-8")
    print(table_text(lives))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
