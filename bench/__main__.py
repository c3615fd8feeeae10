"""`python -m bench [NAME …]` runs benchmark groups, all of them by default."""

import argparse
import sys
from importlib import import_module

from bench import GROUPS
from bench.measure import Report


def main(arguments: list[str]) -> int:
    """Run the named groups and print their tables. Returns the exit code: 2 for a name that does not exist."""
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Print speeds as ratios, measured side by side in one run.",
        epilog="example: python -m bench kernels",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="groups to run (default: all)")
    parser.add_argument("--list", action="store_true", help="print the groups and exit")
    options = parser.parse_args(arguments)
    if options.list:
        for name, sentence in GROUPS.items():
            print(f"{name:12} {sentence}")
        return 0
    unknown = [name for name in options.names if name not in GROUPS]
    if unknown:
        print(f"no such group: {', '.join(unknown)} (there are: {', '.join(GROUPS)})", file=sys.stderr)
        return 2
    for name in options.names or GROUPS:
        report = Report(sys.stdout)
        report.line(f"== {name}: {GROUPS[name]}")
        import_module(f"bench.{name}").run(report)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
