"""`fairlead support-bundle`: what a report of a fault needs, as one archive with nothing secret in it."""

import asyncio
import gzip
import io
import tarfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairlead.cli.live import cluster_options
from fairlead.cli.version import commit

if TYPE_CHECKING:
    from fairlead.kube.manifests.support import SupportBundle

LIBRARIES = ("numpy", "msgspec", "click", "rich", "PyYAML", "aiohttp", "uvloop", "cryptography", "prometheus-client")


@click.command(
    "support-bundle",
    epilog="""
\b
Examples:
  fairlead support-bundle --out bundle.tar.gz
  fairlead support-bundle --context production --namespace fairlead-system --out bundle.tar.gz
""",
)
@click.option("--namespace", default="fairlead-system", show_default=True, metavar="NAME", help="Where Fairlead runs.")
@click.option(
    "--out", default="fairlead-support.tar.gz", show_default=True, metavar="FILE", help="The archive to write."
)
@cluster_options
def command(namespace: str, out: str, kubeconfig: str, context: str) -> None:
    """Write versions, configuration, metrics, the last decisions (Events) and a snapshot into one archive.

    Names are kept. Secrets are not read; of workloads only what a plan reads is kept, so that environment
    variables, commands and arguments of containers are not in it. Look into the archive before you send it.
    """
    from fairlead.kube.config import load
    from fairlead.kube.manifests.support import support_bundle
    from fairlead.kube.wire.http import connect

    async def read() -> "SupportBundle":
        client = connect(load(kubeconfig_path=kubeconfig, context=context))
        try:
            await client.version()  # a cluster that does not answer is told as such
            return await support_bundle(client, namespace)
        finally:
            await client.close()

    bundle = asyncio.run(read())
    bundle.add("versions/fairlead.json", versions())
    bundle.files["missing.txt"] = "".join(f"{line}\n" for line in bundle.missing).encode()
    try:
        Path(out).write_bytes(packed(bundle.files, time.time()))
    except OSError as error:
        raise click.ClickException(f"{out}: {error.strerror}") from None
    click.echo(f"{out}: {len(bundle.files)} files; {len(bundle.missing)} things could not be read (missing.txt)")


def versions() -> dict[str, object]:
    """Of this program and of what it stands on."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from fairlead import __version__

    found: dict[str, str] = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return {"fairlead": __version__, "commit": commit(), "python": platform.python_version(), "libraries": found}


def packed(files: dict[str, bytes], now: float) -> bytes:
    """The files as a gzipped tar in one folder, in order of name."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(f"fairlead-support/{name}")
            entry.size, entry.mtime = len(files[name]), int(now)
            archive.addfile(entry, io.BytesIO(files[name]))
    return gzip.compress(plain.getvalue(), mtime=int(now))
