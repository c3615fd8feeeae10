"""`fairlead version`: what this is, and what it was tested with."""

import platform
import subprocess
from pathlib import Path

import click

from fairlead import __version__
from fairlead.cli.output import chosen, output_option, write_record

TESTED = ("v1.36.3",)
"""The versions of Kubernetes that the tests run on; `tools/controlplane` pins the same."""
EXPECTED = ("v1.33", "v1.36")
"""From, to: the kinds and fields that are used are served by these (docs/compatibility.md)."""
PACKAGE = Path(__file__).parents[1]


@click.command(
    "version",
    epilog="""
\b
Examples:
  fairlead version
  fairlead version -o json
""",
)
@output_option()
def command(output: str | None) -> None:
    """Say which version this is, of which commit, and the versions of Kubernetes that it was tested with."""
    record = {
        "version": __version__,
        "commit": commit(),
        "python": platform.python_version(),
        "kubernetes": {"tested": list(TESTED), "expected": f"{EXPECTED[0]} to {EXPECTED[1]}"},
    }
    form = chosen(output)
    if form == "table":
        click.echo(f"fairlead {__version__}, commit {record['commit']}, Python {record['python']}")
        click.echo(f"tested with Kubernetes {', '.join(TESTED)}, expected to work with {EXPECTED[0]} to {EXPECTED[1]}")
    else:
        write_record(record, form)


def commit() -> str:
    """The commit that the package was built from, or that of the checkout it runs from; else `unknown`."""
    built = PACKAGE / "COMMIT"
    if built.is_file():
        return built.read_text(encoding="ascii").strip()
    asked = ["git", "-C", str(PACKAGE), "rev-parse", "HEAD"]
    try:
        found = subprocess.run(asked, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    # A package that lies in a folder of another project's checkout is not that project.
    ours = (PACKAGE.parents[1] / "pyproject.toml").is_file()
    return found.stdout.strip() if ours and found.returncode == 0 else "unknown"
