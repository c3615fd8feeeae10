"""The command line itself: help, versions, completion, exit codes, quick start."""

import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from fairlead import __version__
from fairlead.cli.main import COMMANDS, LIVE
from tests.interrupts import heard


def fairlead(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "fairlead", *words], capture_output=True, text=True, timeout=60, check=False
    )


def test_version() -> None:
    """The version is that of the package."""
    assert fairlead("--version").stdout.strip() == f"fairlead, version {__version__}"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_every_command_has_examples(name: str) -> None:
    """Nobody should have to guess how a command is called."""
    done = fairlead(name, "--help")
    assert done.returncode == 0
    assert "Examples:" in done.stdout
    assert f"fairlead {name}" in done.stdout


def test_help_imports_nothing_heavy() -> None:
    """Help is quick because it loads neither NumPy nor rich nor an HTTP stack nor a command."""
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom fairlead.cli.main import cli\n"
        "CliRunner().invoke(cli, ['--help'])\n"
        "print(sorted({'numpy', 'rich', 'aiohttp', 'yaml', 'msgspec', 'fairlead.cli.plan'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_component_imports_neither_rich_nor_an_http_stack() -> None:
    """What a scheduler does not need takes no time at its start, and can be imported later (docs/decisions/0450)."""
    code = (
        "import sys\nimport fairlead.live.scheduler.main\nprint(sorted({'rich', 'aiohttp'} & set(sys.modules)))\n"
        "import rich.table"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("given", "wanted"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_numpy_starts_no_threads_unless_asked_to(given: dict[str, str], wanted: str) -> None:
    """A process of ours sets the number before NumPy is there; what the user has set stays."""
    code = (
        "import os, sys\nfrom fairlead.cli.main import process\nsys.argv[1:] = ['--version']\n"
        "try:\n    process()\nexcept SystemExit:\n    print(os.environ['OPENBLAS_NUM_THREADS'], 'numpy' in sys.modules)"
    )
    own = {key: value for key, value in os.environ.items() if key != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=own | given)
    assert done.stdout.splitlines()[-1] == f"{wanted} False"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_program(shell: str) -> None:
    """The script of each shell completes `fairlead`."""
    done = fairlead("completion", shell)
    assert done.returncode == 0
    assert "_FAIRLEAD_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    "words", [("scheduler",), ("queue",), ("tiers",), ("plan", "--cluster"), ("ui", "-f", "examples")]
)
def test_a_missing_extra_is_named(words: tuple[str, ...]) -> None:
    """Without what `live` brings, a command that needs it says so, and how to get it."""
    hide = "import sys; sys.modules.update(dict.fromkeys(main.LIVE)); sys.argv[0] = 'fairlead'; main.main()"
    code = f"from fairlead.cli import main; {hide}"
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "needs the extra `live`: pip install 'fairlead[live]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("form", ["json", "table"])
def test_a_plan_ends_with_its_answer_whole_and_nothing_freed(form: str) -> None:
    """Nothing runs after the answer, which is what it is otherwise, as is the exit code (docs/decisions/0416)."""
    words = "plan", "-f", "examples/shop", "-o", form
    late = "import atexit; atexit.register(print, 'late'); from fairlead.cli import main; "
    ended, freed = (
        subprocess.run(
            [sys.executable, "-c", late + end, *words], capture_output=True, text=True, timeout=60, check=False
        )
        for end in ("main.process()", "main.main()")
    )
    assert ended.stdout + "late\n" == freed.stdout
    assert ended.returncode == freed.returncode == 1


@pytest.mark.parametrize(("words", "collects"), [(("plan", "--help"), False), (("scheduler", "--help"), True)])
def test_what_runs_for_long_collects_garbage(words: tuple[str, ...], collects: bool) -> None:
    """A plan makes no cycles and ends soon."""
    code = "import atexit, gc; atexit.register(lambda: print(gc.isenabled())); from fairlead.cli import main; "
    run = [sys.executable, "-c", code + "main.process()", *words]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == str(collects)


def test_the_extra_for_spans_is_named(tmp_path: Path) -> None:
    """An endpoint is set and the extra is missing: the process says so instead of running without spans."""
    hide = "import sys; sys.modules['opentelemetry'] = None; sys.argv[0] = 'fairlead'; main.main()"
    config = tmp_path / "kubeconfig"
    config.write_text(
        "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], "
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}], users: [{name: u, user: {}}]}"
    )
    words = [sys.executable, "-c", f"from fairlead.cli import main; {hide}", "scheduler", "--kubeconfig", str(config)]
    environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "needs the extra `otel`: pip install 'fairlead[otel]'" in done.stderr


def test_the_extra_is_what_the_package_says() -> None:
    """Each dependency of the extra `live` is known by the name that is imported."""
    extra = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert {re.split("[<>=]", each)[0].replace("-", "_") for each in extra["live"]} == set(LIVE)


def test_unknown_command_is_told_with_exit_code_2() -> None:
    """A typing mistake gets one line and the way to help."""
    done = fairlead("plam")
    assert done.returncode == 2
    assert "No such command 'plam'" in done.stderr
    assert "Traceback" not in done.stderr


def _wait_until_idle(pid: int) -> None:
    """Until the process has used no processor time for a second: it has started and waits for its input."""
    used, since = "", time.monotonic()
    while time.monotonic() - since < 1.0:
        now = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11]
        if now != used:
            used, since = now, time.monotonic()
        time.sleep(0.05)


def test_interrupt_ends_with_one_line() -> None:
    """Ctrl-C while waiting for input: exit code 130, no traceback."""
    process = subprocess.Popen(
        [sys.executable, "-m", "fairlead", "place", "-f", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=heard,
    )
    _wait_until_idle(process.pid)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors.strip() == b"fairlead: interrupted; nothing is left half done"


def test_reader_that_goes_away_is_no_error() -> None:
    """`fairlead … | head -1` ends quietly."""
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -m fairlead --help | head -1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
