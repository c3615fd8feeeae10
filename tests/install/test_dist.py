"""What `make dist` builds is the same everywhere, and works where nothing else of the project is."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from tools.release import build

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src" / "fairlead" / "web" / "static"
MOMENT = "1767225600"


def make(root: Path, out: Path, *before: str, **settings: str) -> dict[str, bytes]:
    """Run `python -m tools.release` of a checkout; the files that it made."""
    command = [*before, sys.executable, "-m", "tools.release", "--out", str(out)]
    env = {**os.environ, "SOURCE_DATE_EPOCH": MOMENT, **settings}
    subprocess.run(command, cwd=root, env=env, check=True, capture_output=True, text=True)
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of this checkout."""
    out = tmp_path_factory.mktemp("release") / "dist"
    make(ROOT, out)
    return out


def elsewhere(folder: Path) -> Path:
    """The same files in another checkout: other path, other times, other modes, copied in another order."""
    subprocess.run(["git", "clone", "--quiet", "--no-checkout", str(ROOT), str(folder)], check=True)
    build.stage(ROOT, folder)
    (folder / build.COMMIT).unlink()  # a checkout has none
    for path in sorted((folder / "src").rglob("*"), reverse=True):
        if path.is_file():
            path.chmod(0o640 | (path.stat().st_mode & 0o100))
            os.utime(path, (1_000_000_000, 1_000_000_000))
    subprocess.run(["git", "add", "--all"], cwd=folder, check=True)
    return folder


def test_two_builds_are_equal_byte_by_byte(dist: Path, tmp_path: Path) -> None:
    """Another folder, user mask, time zone, language and hash seed make no difference."""
    other = elsewhere(tmp_path / "another-checkout")
    settings = {"TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
    again = make(other, tmp_path / "dist", "bash", "-c", 'umask 077; exec "$@"', "bash", **settings)
    assert [path.name for path in sorted(dist.iterdir()) if path.read_bytes() != again.get(path.name)] == []
    assert len(again) == 4


def test_wheel_and_sdist_carry_the_built_page(dist: Path) -> None:
    """As `make page` built it, byte by byte."""
    with ZipFile(next(dist.glob("*.whl"))) as wheel, tarfile.open(next(dist.glob("fairlead-*.tar.gz"))) as sdist:
        folder = sdist.getnames()[0].split("/")[0]
        for name in build.PARTS:
            built = (STATIC / name).read_bytes()
            assert wheel.read(f"fairlead/web/static/{name}") == built
            packed = sdist.extractfile(f"{folder}/{build.PAGE}/{name}")
            assert packed is not None
            assert packed.read() == built


def fresh(folder: Path, wanted: str) -> Callable[..., subprocess.CompletedProcess[str]]:
    """An environment with the package and nothing else of ours; runs its programs, away from the checkout's own."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", wanted], check=True)
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env["PATH"] = f"{folder / 'bin'}:/usr/bin:/bin"

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=300)

    return run


KINDS = {
    "wheel": ("*.whl", ""),
    "wheel-live": ("*.whl", "[live]"),
    "sdist-all": ("fairlead-*.gz", "[live,exact,traces,otel]"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_installed_into_a_fresh_environment(dist: Path, tmp_path: Path, kind: str) -> None:
    """The plan of examples/shop is the checkout's; what an extra brings is there with it, and named without it."""
    pattern, extras = KINDS[kind]
    run = fresh(tmp_path / "venv", f"{next(dist.glob(pattern))}{extras}")
    want = subprocess.run(
        [sys.executable, "-m", "fairlead", "plan", "-f", "examples/shop", "-o", "json"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    got = run("fairlead", "plan", "-f", "examples/shop", "-o", "json")
    assert got.returncode == want.returncode == 1
    assert json.loads(got.stdout) == json.loads(want.stdout)
    assert "Usage: kubectl fairlead plan" in run("kubectl-fairlead", "plan", "--help").stdout
    assert run("kubectl_complete-fairlead", "pla").stdout.splitlines()[-1] == ":4"
    live = run("fairlead", "queue", "--kubeconfig", "/nowhere")
    assert "Traceback" not in live.stderr
    assert live.returncode == 2
    assert ("the kubeconfig does not exist" if extras else "pip install 'fairlead[live]'") in live.stderr


def test_krew_installs_what_the_manifest_names(dist: Path, tmp_path: Path) -> None:
    """The check sum is the archive's; the launcher runs `fairlead`, and says what to install where it is missing."""
    spec = yaml.safe_load((dist / "fairlead.yaml").read_text())["spec"]
    for platform in spec["platforms"]:
        archive = dist / platform["uri"].rsplit("/", 1)[1]
        assert build.checksum(archive) == platform["sha256"]
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    program = tmp_path / platform["bin"]
    bin_folder = Path(sys.executable).parent
    there = subprocess.run(
        [program, "--version"], env={"PATH": f"{bin_folder}:/bin"}, capture_output=True, text=True, check=True
    )
    assert there.stdout.endswith(f"version {spec['version'][1:]}\n")
    away = subprocess.run(
        [shutil.which("sh") or "sh", program], env={"PATH": "/nowhere"}, capture_output=True, text=True, check=False
    )
    assert (away.returncode, "pipx install 'fairlead[live]'" in away.stderr) == (2, True)
