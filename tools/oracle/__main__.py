"""The comparison as a command: `python -m tools.oracle --pairs 100000 --seed 7`."""

from __future__ import annotations

import argparse
import json
import sys
import time

from tools.oracle import build
from tools.oracle.clusters import Cluster, cluster
from tools.oracle.differences import Difference, Tally, differences
from tools.oracle.process import Oracle
from tools.oracle.shrink import shrink
from tools.oracle.vocabulary import THEMES


def compare(
    oracle: Oracle, pairs: int, seed: int, themes: tuple[str, ...], tally: Tally
) -> dict[str, tuple[Cluster, Difference]]:
    """Ask both sides about so many pods of random clusters: the first cluster of each kind of difference."""
    first: dict[str, tuple[Cluster, Difference]] = {}
    while tally.pairs < pairs:
        made = cluster(f"{seed}/{tally.clusters}", themes)
        for found in differences(oracle, made, tally):
            first.setdefault(found.kind, (made, found))
    return first


def smallest(oracle: Oracle, made: Cluster, kind: str) -> Cluster:
    """The cluster without everything that this kind of difference does not need."""

    def persists(tried: Cluster) -> bool:
        try:
            return any(each.kind == kind for each in differences(oracle, tried, Tally()))
        except (AssertionError, KeyError):
            return False

    return shrink(made, persists)


def report(tally: Tally, seed: int, seconds: float) -> str:
    """What was compared, in a few lines."""
    lines = [
        f"seed {seed}: {tally.pairs:,} pairs of a pod and a cluster, {tally.clusters:,} clusters, {seconds:.0f} s,"
        f" {60 * tally.pairs / seconds:,.0f} pairs a minute",
        f"  of {tally.nodes:,} nodes asked about, {tally.feasible:,} are feasible;"
        f" {sum(tally.kinds.values()):,} differ",
        f"  refused by {_counts(tally.plugins)}",
        f"  left pending by Fairlead, not implemented: {_counts(tally.left)}",
        f"  intended differences: {_counts(tally.intended)}",
        f"  objects that the API server would not take: {sum(tally.invalid.values()):,}",
    ]
    lines += [f"  {count} × {kind}" for kind, count in tally.kinds.most_common(40)]
    return "\n".join(lines)


def _counts(counted: dict[str, int]) -> str:
    return (
        ", ".join(f"{name} {count:,}" for name, count in sorted(counted.items(), key=lambda each: -each[1])) or "none"
    )


def main() -> int:
    """0 where nothing differs, 1 where something does."""
    parser = argparse.ArgumentParser(prog="python -m tools.oracle", description=__doc__)
    parser.add_argument("--pairs", type=int, default=1000, help="pods to ask about")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=",".join(THEMES), help="themes of the clusters, separated by commas")
    parser.add_argument("--without", default="", help="themes to leave out")
    parser.add_argument("--show", type=int, default=1, help="how many kinds of difference to minimise and print")
    parser.add_argument("--invalid", action="store_true", help="print why objects were refused")
    options = parser.parse_args()
    themes = tuple(each for each in options.only.split(",") if each not in options.without.split(","))
    tally, begin = Tally(), time.monotonic()
    with Oracle(build.program()) as oracle:
        first = compare(oracle, options.pairs, options.seed, themes, tally)
        print(report(tally, options.seed, time.monotonic() - begin))
        if options.invalid:
            print(tally.invalid.most_common(30))
        for kind, _ in tally.kinds.most_common(options.show):
            made, _ = first[kind]
            print(f"\n{kind}\n{json.dumps(smallest(oracle, made, kind), indent=1)}")
    return 1 if tally.kinds else 0


if __name__ == "__main__":
    sys.exit(main())
