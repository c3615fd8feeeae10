"""Who may talk to a control plane: its keys, its users and their kubeconfigs, all fresh in one folder."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from tools.controlplane.api import Api, ApiError
from tools.controlplane.certificates import Authority, Pair, write_key
from tools.controlplane.processes import HOST

CONTEXT = "fairlead-test"


class Access:
    """Keys and certificates under `<folder>/keys`, kubeconfigs in `folder` itself, for the API server at `server`."""

    def __init__(self, folder: Path, server: str) -> None:
        keys = folder / "keys"
        keys.mkdir(mode=0o700)
        self.server = server
        self._folder = folder
        self._authority = Authority(keys)
        self.authority: Path = self._authority.file
        self.serving: Pair = self._authority.server("serving", (HOST,))
        self.service_account_key = keys / "service-account.key"
        write_key(ec.generate_private_key(ec.SECP256R1()), self.service_account_key)
        admin = secrets.token_urlsafe(24)
        self.tokens = keys / "tokens.csv"
        self.tokens.touch(mode=0o600)
        self.tokens.write_text(f'{admin},admin,admin,"system:masters"\n')
        self.kubeconfig = self._write("admin", {"token": admin})

    def for_user(self, user: str, groups: Sequence[str]) -> Path:
        """A kubeconfig with a client certificate for `user` in `groups`."""
        file = f"user-{user.replace(':', '-')}"
        pair = self._authority.client(file, user, groups)
        identity = {
            "client-certificate-data": _base64(pair.certificate.read_bytes()),
            "client-key-data": _base64(pair.key.read_bytes()),
        }
        return self._write(file, identity)

    def for_service_account(self, namespace: str, name: str, token: str) -> Path:
        """A kubeconfig with a service account's token, its namespace as the default one."""
        return self._write(f"sa-{namespace}-{name}", {"token": token}, namespace)

    def _write(self, name: str, identity: Mapping[str, str], namespace: str = "default") -> Path:
        """Write `<name>.kubeconfig`; JSON, which every reader of kubeconfigs takes as YAML."""
        cluster = {
            "server": self.server,
            "certificate-authority-data": _base64(self.authority.read_bytes()),
        }
        context = {"cluster": CONTEXT, "user": name, "namespace": namespace}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": CONTEXT,
            "clusters": [{"name": CONTEXT, "cluster": cluster}],
            "users": [{"name": name, "user": dict(identity)}],
            "contexts": [{"name": CONTEXT, "context": context}],
        }
        file = self._folder / f"{name}.kubeconfig"
        file.touch(mode=0o600)
        file.write_text(json.dumps(config, indent=1))
        return file


def service_account_token(api: Api, namespace: str, name: str, seconds: int) -> str:
    """A token from the TokenRequest API; the account is created if it does not exist."""
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    try:
        api.create(accounts, {"metadata": {"name": name}})
    except ApiError as error:
        if error.status != 409:
            raise
    request = {"spec": {"expirationSeconds": seconds}}
    return str(api.create(f"{accounts}/{name}/token", request)["status"]["token"])


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
