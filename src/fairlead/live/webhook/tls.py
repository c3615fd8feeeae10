"""The server's certificate: where it comes from, and how it is changed without a restart.

A new pair is tried on a scratch context first: loading a key that does not belong to its certificate into the context
in use would break every new connection.
"""

import base64
import ssl
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from fairlead.dataclass import dataclass
from fairlead.kube.client import Client
from fairlead.kube.credentials import read_text
from fairlead.kube.errors import ApiError
from fairlead.kube.objects.meta import Raw
from fairlead.kube.patches import update
from fairlead.kube.resources import MUTATING_WEBHOOKS, SECRETS, VALIDATING_WEBHOOKS
from fairlead.kube.tls import load_pair
from fairlead.live.webhook.certificates import Pair, due, ends, first_of, issue, make_authority, readable, serves
from fairlead.model.errors import InputError

CONFIGURATIONS = (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS)


class CertificateSource(Protocol):
    """Where the pair comes from."""

    async def pair(self) -> Pair:
        """The pair to be used now."""
        ...


class Certificate:
    """The context of the server, and the pair loaded into it."""

    def __init__(self, source: CertificateSource, clients: str = "") -> None:
        self.context = _context()
        self._source = source
        self._loaded: Pair | None = None
        self.end = 0.0
        """Unix time at which the pair in use ends; 0 before there is one."""
        self._clients = Path(clients) if clients else None
        self._trusted: set[str] = set()

    async def refresh(self) -> bool:
        """Load the pair of the source if it is another one; True if it was. A bad pair raises and changes nothing."""
        self._trust_clients()
        pair = await self._source.pair()
        if pair == self._loaded:
            return False
        for context in (_context(), self.context):
            load_pair(context, pair.certificate, pair.key, place="certificate")
        self._loaded = pair
        self.end = ends(pair.certificate)
        return True

    def _trust_clients(self) -> None:
        """Ask clients for a certificate of the authorities in the file. One that has been taken out of it is trusted
        until the next start: a context in use can only learn.
        """
        if self._clients is None:
            return
        bundle = read_text(self._clients, "client authority")
        if bundle in self._trusted:
            return
        try:
            self.context.load_verify_locations(cadata=bundle)
        except (ssl.SSLError, ValueError) as error:
            raise InputError(str(self._clients), f"the client authority is not a PEM certificate: {error}") from error
        self.context.verify_mode = ssl.CERT_REQUIRED
        self._trusted.add(bundle)


class Files:
    """`tls.crt` and `tls.key` in a folder, as a mounted Secret or cert-manager provides them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def pair(self) -> Pair:
        """The files as they are now."""
        texts = []
        for name in ("tls.crt", "tls.key"):
            try:
                texts.append((self._folder / name).read_text("ascii"))
            except (OSError, ValueError) as error:
                raise InputError(str(self._folder / name), f"cannot be read: {error}") from None
        return Pair(*texts)


@dataclass(slots=True, eq=False)
class SelfMade:
    """A pair that the replicas make themselves and share in a Secret; its authority goes into the configurations.

    Each call takes at most one step, so that every API server trusts a new authority before anything is signed by it:
    first the configurations get the bundle of the Secret, then the Secret may change.
    """

    client: Client
    _: KW_ONLY
    namespace: str
    secret: str
    configuration: str
    names: Sequence[str]
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    async def pair(self) -> Pair:
        """The pair of the Secret, made or renewed where it is time to; `InputError` where the Secret cannot be used."""
        stored = await self._read() or await self._create()
        try:
            return await self._pair(stored)
        except ValueError as error:
            raise InputError(f"Secret {self.secret}", f"cannot be used: {error}") from error

    async def _pair(self, stored: Raw) -> Pair:
        texts = {name: base64.b64decode(value).decode() for name, value in (stored.get("data") or {}).items()}
        if not texts:  # made empty, by a chart that removes it again
            await self._store(stored, self._fresh())
            return await self.pair()
        bundle = texts.get("ca.crt", "")
        if readable(first_of(bundle)):
            await self._trust(bundle)
        changed = self._renewed(texts)
        if changed is not None:
            if not await self._store(stored, changed):
                return await self.pair()  # another replica renewed it
            texts = changed
        return Pair(texts.get("tls.crt", ""), texts.get("tls.key", ""))

    async def _store(self, stored: Raw, texts: dict[str, str]) -> bool:
        """Write the Secret; False after a conflict: it changed meanwhile."""
        stored["data"] = {name: _base64(text) for name, text in texts.items()}
        try:
            await self.client.replace(SECRETS.raw, self.secret, stored, namespace=self.namespace)
        except ApiError as error:
            if not error.conflict:
                raise
            return False
        return True

    def _renewed(self, texts: dict[str, str]) -> dict[str, str] | None:
        """What the Secret has to become, None where it is good."""
        now, bundle = self.now(), texts.get("ca.crt", "")
        if due(first_of(bundle), now) or not texts.get("ca.key"):
            authority = make_authority(now)
            # The old one stays trusted, for what it signed is still in use.
            old = first_of(bundle) if readable(first_of(bundle)) else ""
            return texts | {"ca.crt": authority.certificate + old, "ca.key": authority.key}
        leaf = texts.get("tls.crt", "")
        if due(leaf, now) or not serves(leaf, first_of(bundle), self.names):
            pair = issue(Pair(first_of(bundle), texts["ca.key"]), self.names, now)
            return texts | {"tls.crt": pair.certificate, "tls.key": pair.key}
        return None

    async def _read(self) -> Raw | None:
        try:
            return await self.client.get(SECRETS.raw, self.secret, namespace=self.namespace)
        except ApiError as error:
            if not error.not_found:
                raise
            return None

    def _fresh(self) -> dict[str, str]:
        """A new authority, and a pair that it signed."""
        now = self.now()
        authority = make_authority(now)
        pair = issue(authority, self.names, now)
        return {
            "ca.crt": authority.certificate,
            "ca.key": authority.key,
            "tls.crt": pair.certificate,
            "tls.key": pair.key,
        }

    async def _create(self) -> Raw:
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": self.secret},
            "type": "kubernetes.io/tls",
            "data": {name: _base64(text) for name, text in self._fresh().items()},
        }
        try:
            return await self.client.create(SECRETS.raw, body, namespace=self.namespace)
        except ApiError as error:
            if not error.already_exists:
                raise
        found = await self._read()
        if found is None:
            raise InputError(self.secret, "the Secret of the certificate comes and goes; another program manages it")
        return found

    async def _trust(self, bundle: str) -> None:
        """Put the bundle into every webhook of the configurations that are there."""
        wanted = _base64(bundle)

        def mutate(configuration: Raw) -> Raw | None:
            for webhook in configuration.get("webhooks") or ():
                webhook["clientConfig"]["caBundle"] = wanted
            return configuration

        for resource in CONFIGURATIONS:
            try:
                await update(self.client, resource, self.configuration, mutate)
            except ApiError as error:
                if not error.not_found:
                    raise


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
