"""Keys and certificates of a control plane as files: of its own authority, its server and its users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from fairlead.live.webhook import certificates

LIFE = timedelta(days=7)
SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A certificate and its private key as files in PEM."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority that lives as long as the control plane's folder."""

    def __init__(self, folder: Path, name: str = "fairlead-test") -> None:
        self._folder = folder
        self._now = datetime.now(UTC)
        self._pair = certificates.make_authority(self._now, name=name, life=LIFE)
        self.file = folder / "ca.crt"
        self.file.write_text(self._pair.certificate)

    def server(self, name: str, hosts: Sequence[str] = ("127.0.0.1",)) -> Pair:
        """A certificate for a server reached at `hosts` (addresses or names) or as the API server's names."""
        return self._write(name, certificates.issue(self._pair, (*SERVER_NAMES, *hosts), self._now, life=LIFE))

    def client(self, file: str, user: str, groups: Sequence[str]) -> Pair:
        """A certificate that the API server takes as `user` in `groups`."""
        return self._write(file, certificates.issue_user(self._pair, user, groups, self._now, life=LIFE))

    def _write(self, name: str, pair: certificates.Pair) -> Pair:
        files = Pair(certificate=self._folder / f"{name}.crt", key=self._folder / f"{name}.key")
        files.certificate.write_text(pair.certificate)
        files.key.touch(mode=0o600)
        files.key.write_text(pair.key)
        return files


def write_key(key: ec.EllipticCurvePrivateKey, file: Path) -> None:
    """Write a private key in PEM, in the older form from which the API server can also read the public key."""
    file.touch(mode=0o600)
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
