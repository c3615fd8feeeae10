"""`python -m tools.mutants --number 100 --seed 7`: does a test fail when one operator changes?"""

import argparse
import signal
import sys
from itertools import count
from pathlib import Path

from tools.mutants import report
from tools.mutants.campaign import Campaign, Result
from tools.mutants.changes import Change
from tools.mutants.recording import recorded
from tools.mutants.sample import population, sample
from tools.mutants.trial import Runner

ROOT = Path(__file__).parents[2]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make mutants", description="Random changes of one operator; the tests must notice."
    )
    parser.add_argument("--number", type=int, default=100, help="how many changes to draw")
    parser.add_argument("--seed", type=int, default=0, help="the same seed draws the same changes")
    parser.add_argument("--under", default="", help="only modules whose path contains this")
    parser.add_argument("--again", type=Path, help="only what survived by this earlier output")
    parser.add_argument("--workers", type=int, default=2, help="how many to try side by side")
    parser.add_argument("--near", action="store_true", help="take the tests that import the module; records nothing")
    parser.add_argument("--page", action="store_true", help="write the result under docs/proof")
    return parser.parse_args()


def _drawn(options: argparse.Namespace) -> list[Change]:
    everything = population(ROOT, options.under)
    if options.again is not None:
        lines = options.again.read_text(encoding="utf-8").splitlines()
        text = "\n".join(line for line in lines if not line.startswith("killed"))
        return [change for change in everything if change.words() in text]
    return sample(everything, options.number, options.seed)


class _Teller:
    """Prints each result as it is found, and now and then how far it is."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = count(1)

    def __call__(self, result: Result) -> None:
        done = next(self._done)
        print(f"{result.end.value}: {report.line(result)}", flush=True)
        if done % 20 == 0:
            print(f"mutants: {done} of {self._total} tried", flush=True)


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    """Zero where the campaign came to its end; survivors are for people to judge."""
    signal.signal(signal.SIGTERM, _stop)
    options = _arguments()
    runner = Runner()
    drawn = _drawn(options)
    known = None if options.near else recorded(ROOT, drawn, runner, options.workers)
    print(f"mutants: {len(drawn)} changes, seed {options.seed}", flush=True)
    results = Campaign(ROOT, known, runner).run(drawn, options.workers, _Teller(len(drawn)))
    print(f"\n{report.table(results)}\n\nmutants: {report.summary(results)}")
    if options.page:
        print(f"mutants: {report.write_page(ROOT, results, options.seed)}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("mutants: stopped")
