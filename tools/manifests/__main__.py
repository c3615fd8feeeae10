"""Write what is made from the chart and the program's settings, or say what is behind.

python -m tools.manifests            the schema of values, versions, alerts, dashboards, the kustomize folders
python -m tools.manifests --chart    all but the folders: these need no helm
python -m tools.manifests --check    write nothing, exit 1 if something would change
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from fairlead import __version__
from tools.controlplane.build import BuildError
from tools.helm.build import program
from tools.manifests.folders import CHART, files
from tools.manifests.schema import values_schema
from tools.observe.files import observe_files


def chart_files() -> Iterator[tuple[Path, str]]:
    """What of the chart is made from code: the schema of its values, its versions, alerts and dashboards."""
    yield CHART / "values.schema.json", json.dumps(values_schema(), indent=2, ensure_ascii=False) + "\n"
    yield from observe_files(CHART)
    chart = CHART / "Chart.yaml"
    yield chart, re.sub(r"^(version|appVersion): .*$", rf"\1: {__version__}", chart.read_text(), flags=re.MULTILINE)


def behind(made: Iterator[tuple[Path, str]]) -> Iterator[tuple[Path, str]]:
    """Those whose file has another text, or none."""
    return ((path, text) for path, text in made if not path.exists() or path.read_text() != text)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.manifests", description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if something would change")
    parser.add_argument("--chart", action="store_true", help="all but the kustomize folders")
    options = parser.parse_args()
    late = _settle(behind(chart_files()), options.check)
    if not options.chart:
        try:
            late += _settle(behind(files(program())), options.check)
        except (BuildError, ValueError) as error:
            print(f"manifests: {error}", file=sys.stderr)
            return 1
    return 1 if late and options.check else 0


def _settle(late: Iterable[tuple[Path, str]], check: bool) -> int:
    """Write the files, or only name them; how many there are."""
    late = list(late)
    for path, text in late:
        print(f"manifests: {'is behind; run `make manifests`' if check else 'written'}: {path}")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return len(late)


if __name__ == "__main__":
    sys.exit(main())
