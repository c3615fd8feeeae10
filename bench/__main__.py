"""`python -m bench` measures every goal and writes one table; with names it runs those goals and groups."""

import argparse
import sys
from importlib import import_module

from bench import GROUPS
from bench.goals import GOALS
from bench.measure import Report
from bench.table import measure, print_table, record


def main(arguments: list[str]) -> int:
    """Run what is named and print the tables. Returns the exit code: 2 for a name that does not exist."""
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure speeds: goals in one table beside what is wanted, groups as ratios side by side.",
        epilog="examples: python -m bench global plan; python -m bench kernels",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="goals and groups to run (default: all goals)")
    parser.add_argument("--list", action="store_true", help="print the goals and the groups and exit")
    parser.add_argument("--record", action="store_true", help="keep the figures in docs/proof and write its page")
    options = parser.parse_args(arguments)
    if options.list:
        for name, sentence in {**{name: goal.work for name, goal in GOALS.items()}, **GROUPS}.items():
            print(f"{name:18} {sentence}")
        return 0
    unknown = [name for name in options.names if name not in GROUPS and name not in GOALS]
    if unknown:
        print(f"no such goal or group: {', '.join(unknown)} (`--list` names them)", file=sys.stderr)
        return 2
    report = Report(sys.stdout)
    for name in options.names:
        if name in GROUPS:
            report.line(f"== {name}: {GROUPS[name]}")
            import_module(f"bench.{name}").run(report)
    goals = [name for name in options.names or GOALS if name in GOALS]
    if goals:
        found = measure(goals, report)
        print_table(found, report)
        if options.record:
            report.line(f"written: {record(found)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
