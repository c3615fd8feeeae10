"""Who we are to the API server, and how that stays true while tokens and certificates change."""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec

from fairlead.dataclass import dataclass
from fairlead.model.errors import InputError
from fairlead.text.mistakes import UNREADABLE, words

REREAD_SECONDS = 10.0
EARLY_SECONDS = 30.0
PLUGIN_SECONDS = 60.0
EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """What is shown to the server: a bearer token, a client certificate (PEM text), both, or nothing."""

    token: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)


NONE = Credential()


class Credentials(Protocol):
    """A source of the credential to use now."""

    async def current(self) -> Credential:
        """The credential for the next request. Raises `InputError` where it cannot be had."""
        ...

    def refused(self) -> None:
        """The server said 401: do not hand out the same credential from memory again."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same credential for good."""

    credential: Credential = Credential()

    async def current(self) -> Credential:
        return self.credential

    def refused(self) -> None:
        return None


class FromFiles:
    """A token or a certificate in files that others replace, such as the kubelet for service accounts.

    They are read again every ten seconds and after a 401. What has no file is taken from `fixed`.
    """

    def __init__(
        self,
        *,
        token: Path | None = None,
        certificate: Path | None = None,
        key: Path | None = None,
        fixed: Credential = NONE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._token, self._certificate, self._key = token, certificate, key
        self._clock = clock
        self._read_at: float | None = None
        self._credential = fixed

    async def current(self) -> Credential:
        if self._read_at is None or self._clock() - self._read_at >= REREAD_SECONDS:
            self._credential = Credential(
                token=_filled(self._token, "token file", self._credential.token).strip(),
                certificate=_filled(self._certificate, "client-certificate", self._credential.certificate),
                key=_filled(self._key, "client-key", self._credential.key),
            )
            self._read_at = self._clock()
        return self._credential

    def refused(self) -> None:
        self._read_at = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecPlugin:
    """A credential plugin as the kubeconfig names it. `place` is where it is written, for messages."""

    place: str
    api_version: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    hint: str = ""
    cluster: Mapping[str, object] | None = None


class PluginStatus(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: str | None = None


class PluginAnswer(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    status: PluginStatus | None = None


class FromPlugin:
    """Runs a credential plugin and keeps its answer until shortly before it expires."""

    def __init__(self, plugin: ExecPlugin, *, now: Callable[[], float] = time.time) -> None:
        self.plugin = plugin
        self._now = now
        self._lock = asyncio.Lock()
        self._credential: Credential | None = None
        self._expires: float | None = None

    async def current(self) -> Credential:
        async with self._lock:
            if self._credential is None or (self._expires is not None and self._now() >= self._expires):
                status = await run_plugin(self.plugin)
                self._expires = self._expiry(status)
                self._credential = Credential(
                    token=status.token or "",
                    certificate=status.client_certificate_data or "",
                    key=status.client_key_data or "",
                )
            return self._credential

    def refused(self) -> None:
        self._credential = None

    def _expiry(self, status: PluginStatus) -> float | None:
        if status.expiration_timestamp is None:
            return None
        try:
            moment = datetime.fromisoformat(status.expiration_timestamp)
            return moment.timestamp() - EARLY_SECONDS
        except (ValueError, OverflowError) as error:
            raise InputError(self.plugin.place, f"the plugin's expirationTimestamp is not a time: {error}") from error


async def run_plugin(plugin: ExecPlugin) -> PluginStatus:
    """One run of the plugin. Every way it can fail is an `InputError` that names the plugin and the reason."""
    name = plugin.command
    try:
        process, said = await asyncio.get_running_loop().subprocess_exec(
            _Said,
            name,
            *plugin.args,
            env=_environment(plugin),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except FileNotFoundError as error:
        hint = f"; {plugin.hint}" if plugin.hint else ""
        raise InputError(plugin.place, f"the credential plugin {name!r} is not installed{hint}") from error
    except (OSError, ValueError) as error:
        raise InputError(plugin.place, f"the credential plugin {name!r} cannot be started: {error}") from error
    try:
        async with asyncio.timeout(PLUGIN_SECONDS):
            await said.ended.wait()
    except TimeoutError as error:
        raise InputError(
            plugin.place, f"the credential plugin {name!r} did not answer in {PLUGIN_SECONDS:.0f} s"
        ) from error
    finally:
        # It runs on where it took too long, or where nobody waits for its answer any more.
        await _end(process, said)
    code = process.get_returncode()
    if code != 0:
        raise InputError(plugin.place, f"the credential plugin {name!r} failed with {code}: {_tail(said.texts[2])}")
    return _status(plugin, bytes(said.texts[1]))


class _Said(asyncio.SubprocessProtocol):
    """What a process prints, by the number of its output; `ended` once it has ended and its output is closed."""

    def __init__(self) -> None:
        self.texts = {1: bytearray(), 2: bytearray()}
        self.ended = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.texts[fd] += data

    def connection_lost(self, error: Exception | None) -> None:
        self.ended.set()


async def _end(process: asyncio.SubprocessTransport, said: _Said) -> None:
    """Kill it, unless it has ended. Programs that it started may hold its output open: that is not waited for."""
    if not said.ended.is_set():
        with suppress(ProcessLookupError):
            process.kill()
        for number in said.texts:
            output = process.get_pipe_transport(number)
            if output is not None:
                output.close()
        await said.ended.wait()
    process.close()


def _status(plugin: ExecPlugin, out: bytes) -> PluginStatus:
    name = plugin.command
    try:
        answer = msgspec.json.decode(out, type=PluginAnswer)
    except UNREADABLE as error:
        why = words(error)[0]
        raise InputError(plugin.place, f"the credential plugin {name!r} printed no ExecCredential: {why}") from error
    if answer.kind != "ExecCredential" or answer.api_version != plugin.api_version:
        raise InputError(
            plugin.place,
            f"the credential plugin {name!r} answered {answer.api_version or '?'} {answer.kind or '?'}, "
            f"expected {plugin.api_version} ExecCredential",
        )
    status = answer.status
    if status is None or not (status.token or status.client_certificate_data):
        raise InputError(plugin.place, f"the credential plugin {name!r} gave neither a token nor a certificate")
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        raise InputError(plugin.place, f"the credential plugin {name!r} gave only one of certificate and key")
    return status


def _environment(plugin: ExecPlugin) -> dict[str, str]:
    info: dict[str, object] = {
        "apiVersion": plugin.api_version,
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }
    if plugin.cluster is not None:
        info["spec"] = {"interactive": False, "cluster": plugin.cluster}
    text = msgspec.json.encode(info).decode()
    return {**os.environ, **plugin.env, "KUBERNETES_EXEC_INFO": text}


def _tail(err: bytearray) -> str:
    lines = err.decode("utf-8", "replace").split("\n")
    words = [line.strip() for line in lines if line.strip()]
    return words[-1][:300] if words else "it said nothing"


def _filled(path: Path | None, what: str, fixed: str) -> str:
    """The text of the file, which must not be empty; `fixed` where there is no file."""
    if path is None:
        return fixed
    text = read_text(path, what)
    if not text.strip():
        raise InputError(str(path), f"the {what} is empty")
    return text


def read_text(path: Path, what: str) -> str:
    """A small file named by a configuration, or an `InputError` that says which and why not."""
    try:
        return path.read_text("utf-8")
    except FileNotFoundError as error:
        raise InputError(str(path), f"the {what} does not exist") from error
    except UnicodeDecodeError as error:
        raise InputError(str(path), f"the {what} is not text") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(str(path), f"the {what} cannot be read: {reason}") from error
