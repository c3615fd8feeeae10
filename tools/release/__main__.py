"""python -m tools.release [--out DIR] [--url URL]: build a release and print its check sums."""

import argparse
import sys
from pathlib import Path

from tools.release import build, plugin

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Build everything anew."""
    asked = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    asked.add_argument("--out", type=Path, default=ROOT / "dist", help="where the files go")
    asked.add_argument("--url", default=plugin.NOWHERE, help="where the files will be found, for the krew manifest")
    words = asked.parse_args()
    try:
        made = build.release(ROOT, words.out, words.url)
    except build.NotBuildableError as error:
        print(f"dist: {error}", file=sys.stderr)
        return 2
    print("\n".join(f"{build.checksum(path)}  {path.name}" for path in made))
    return 0


if __name__ == "__main__":
    sys.exit(main())
