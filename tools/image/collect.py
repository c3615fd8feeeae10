"""Inside the first stage of the image: install the wheels, compile them, and gather what runs into one folder.

collect.py WHEELS REQUIREMENTS IMAGE

Uses nothing but the standard library of the base's Python. What is gathered: the interpreter, its standard library
without what only developers need, the shared libraries that any of it loads, certificates, a user.
"""

import compileall
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from py_compile import PycInvalidationMode

OURS = Path("/opt/fairlead")
NOT_NEEDED = ("test", "tests", "idlelib", "ensurepip", "lib2to3", "tkinter", "turtledemo", "pydoc_data", "distutils")
"""Folders of the standard library and of packages that no component imports."""
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
RESOLVERS = ("libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2")
"""Loaded by the C library by name, so no program lists them."""
PASSWD = "root:x:0:0::/:/sbin/nologin\nfairlead:x:65532:65532::/tmp:/sbin/nologin\n"
GROUP = "root:x:0:\nfairlead:x:65532:\n"
PACKAGES = Path("usr/share/fairlead/packages.json")


def main() -> None:
    """Fill the folder."""
    wheels, requirements, image = (Path(each) for each in sys.argv[1:])
    install(wheels, requirements)
    library = Path(sysconfig.get_path("stdlib"))
    interpreter = Path(sys.executable).resolve()
    trees = [library, OURS, *filter(Path.exists, [library / "lib-dynload"])]
    for tree in trees:
        gather(tree, image)
    loaded = sorted(closure([interpreter, *programs(trees), *resolvers()]))
    for file in [interpreter, *loaded, *filter(Path.exists, [CERTIFICATES])]:
        copy(file, image)
    link(interpreter, image)
    write(image, loaded, [interpreter, library])
    unchecked = PycInvalidationMode.UNCHECKED_HASH
    compileall.compile_dir(image, quiet=2, invalidation_mode=unchecked, stripdir=str(image), prependdir="/")


def install(wheels: Path, requirements: Path) -> None:
    """Everything that the lock names, by hash, then our own wheel."""
    (pip,) = wheels.glob("pip-*.whl")
    (own,) = wheels.glob("fairlead-*.whl")
    common = ["--quiet", "--no-index", "--no-deps", "--no-compile", "--no-cache-dir", f"--target={OURS}"]
    environment = {**os.environ, "PYTHONPATH": str(pip), "PIP_ROOT_USER_ACTION": "ignore"}
    for what in (["--require-hashes", f"--find-links={wheels}", "-r", str(requirements)], [str(own)]):
        subprocess.run([sys.executable, "-m", "pip", "install", *common, *what], check=True, env=environment)


def gather(tree: Path, image: Path) -> None:
    """Copy a tree without what is not needed and without byte code of the base."""
    skipped = shutil.ignore_patterns(*NOT_NEEDED, "__pycache__", "*.pyi", "*.a", "*.h", "config-*", "site-packages")
    shutil.copytree(tree, image / tree.relative_to("/"), symlinks=True, ignore=skipped, dirs_exist_ok=True)


def programs(trees: Iterable[Path]) -> Iterator[Path]:
    """The compiled modules of these trees."""
    return (file for tree in trees for file in tree.rglob("*.so*") if file.is_file())


def resolvers() -> Iterator[Path]:
    """The parts of the C library that look up names, where it has them as files."""
    for folder in (Path("/lib"), Path("/usr/lib")):
        for name in RESOLVERS:
            yield from (file for file in folder.glob(f"*-linux-gnu/{name}") if file.exists())


def closure(files: Iterable[Path]) -> set[Path]:
    """The shared libraries that these files load, directly or not, under the names by which they are loaded."""
    files = list(files)
    found = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True, check=False).stdout
    lacking = sorted(
        {line.split()[0] for line in found.splitlines() if line.endswith("=> not found")} - _bundled(files)
    )
    if lacking:
        sys.exit(f"the base lacks libraries that the packages load: {', '.join(lacking)}")
    libraries = {Path(word) for line in found.splitlines() for word in line.split() if word.startswith("/")}
    own = [each for each in files if each.name in RESOLVERS]
    return {each for each in [*libraries, *own] if each.exists() and not each.is_relative_to(OURS)}


def _bundled(files: Iterable[Path]) -> set[str]:
    """Libraries that packages bring along: they are found by the package, not by the loader's own search."""
    return {each.name for each in files if each.is_relative_to(OURS)}


def copy(file: Path, image: Path) -> None:
    """The file under its own name; where that is a link, what it links to."""
    target = image / file.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(file.resolve(), target)


def link(interpreter: Path, image: Path) -> None:
    """`python3` beside the interpreter, and the folders by which the loader finds the C library on a merged /usr."""
    beside = image / interpreter.parent.relative_to("/") / "python3"
    if not beside.exists():
        beside.symlink_to(interpreter.name)
    for name in ("lib", "lib64"):
        source, target = Path("/", name), image / name
        if source.is_symlink() and target.exists():
            merge(target, image / "usr" / name)
            shutil.rmtree(target)
        if source.is_symlink() and not target.exists():
            (image / "usr" / name).mkdir(parents=True, exist_ok=True)
            target.symlink_to(f"usr/{name}")


def merge(source: Path, target: Path) -> None:
    """Move what one folder has into another."""
    shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)


def write(image: Path, loaded: list[Path], others: list[Path]) -> None:
    """Users, a place to write, and which packages of the base the files are from."""
    for name, text in {"etc/passwd": PASSWD, "etc/group": GROUP, "etc/nsswitch.conf": "hosts: files dns\n"}.items():
        (image / name).parent.mkdir(parents=True, exist_ok=True)
        (image / name).write_text(text)
    (image / "tmp").mkdir(mode=0o1777)
    (image / "tmp").chmod(0o1777)
    (image / PACKAGES).parent.mkdir(parents=True)
    found = {"python": sys.version.split()[0], "packages": packages([*loaded, *others, CERTIFICATES])}
    (image / PACKAGES).write_text(json.dumps(found, indent=1, sort_keys=True))


def packages(files: list[Path]) -> dict[str, str]:
    """Debian packages of these files with their versions; nothing where the base is no Debian."""
    if not shutil.which("dpkg-query"):
        return {}
    names = {str(each) for file in files for each in (file, file.resolve())}
    names |= {name.removeprefix("/usr") for name in names} | {f"/usr{name}" for name in names}
    owners = subprocess.run(["dpkg-query", "-S", *sorted(names)], capture_output=True, text=True, check=False).stdout
    found = {word.split(":")[0] for line in owners.splitlines() for word in line.split(": ")[0].split(", ")}
    found = {each for each in found if not each.startswith("diversion")} | {"ca-certificates"}
    shown = ["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *sorted(found)]
    lines = subprocess.run(shown, capture_output=True, text=True, check=False).stdout.splitlines()
    return dict(line.split(" ") for line in lines)


if __name__ == "__main__":
    main()
