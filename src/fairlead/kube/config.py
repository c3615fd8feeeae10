"""Which API server, and as whom: kubeconfig files, or the service account of the pod we run in.

Read as kubectl reads it: of several files in KUBECONFIG the first to name a thing wins, relative paths count
from the file they stand in. Everything unusable is an `InputError` with the file and the place in it.
"""

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from fairlead.dataclass import dataclass
from fairlead.kube import kubeconfig
from fairlead.kube.credentials import (
    EXEC_VERSIONS,
    Credential,
    Credentials,
    ExecPlugin,
    Fixed,
    FromFiles,
    FromPlugin,
    read_text,
)
from fairlead.kube.impersonation import Fields, impersonation
from fairlead.kube.kubeconfig import ClusterEntry, Exec, Found, User
from fairlead.kube.proxies import Proxy, environment_proxy, proxy_of
from fairlead.model.errors import InputError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """All that a transport needs. `server` has no slash at its end; `ca` is PEM text, empty: the system's.

    `ca_file` is where it stands, to be read again; `fields` are headers that every request carries.
    """

    server: str
    namespace: str = "default"
    ca: str = ""
    ca_file: Path | None = None
    verify: bool = True
    server_name: str = ""
    credentials: Credentials = field(default_factory=Fixed)
    proxy: Proxy | None = None
    fields: Fields = ()
    source: str = ""


def load(
    *,
    kubeconfig_path: str = "",
    context: str = "",
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> Connection:
    """The connection that was asked for: a given file, else KUBECONFIG, else ~/.kube/config, else in-cluster."""
    environ = os.environ if environ is None else environ
    home = Path.home() if home is None else home
    paths = kubeconfig.paths(kubeconfig_path, environ, home)
    if paths:
        return from_kubeconfig(kubeconfig.read(paths), context=context, environ=environ)
    if "KUBERNETES_SERVICE_HOST" in environ:
        if context:
            raise InputError("", f"context {context!r} was asked for, but there is no kubeconfig in a cluster")
        return in_cluster(environ, service_account)
    raise InputError("", f"no cluster to talk to: no KUBECONFIG, no {home / '.kube/config'}, and not inside a cluster")


def in_cluster(environ: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> Connection:
    """The API server as pods see it, with the mounted service account."""
    host = environ.get("KUBERNETES_SERVICE_HOST", "")
    port = environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host or not port.isascii() or not port.isdigit():
        raise InputError("KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT", f"not an address: {host!r}, {port!r}")
    space = folder / "namespace"
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return Connection(
        server=server,
        namespace=read_text(space, "namespace file").strip() if space.exists() else "default",
        ca=read_text(folder / "ca.crt", "CA certificate"),
        ca_file=folder / "ca.crt",
        credentials=FromFiles(token=folder / "token"),
        proxy=environment_proxy(server, environ),
        source="the service account of this pod",
    )


def from_kubeconfig(found: Found, *, context: str = "", environ: Mapping[str, str] = NOTHING) -> Connection:
    """The connection of one context: the one given, else the current one. `environ` may name a proxy."""
    name = context or found.current
    if not name:
        raise InputError(found.place, "there is no current-context; name one")
    ctx, place = found.context(name)
    cluster, cluster_place = found.cluster(ctx.cluster, f"{place}.cluster")
    user, user_place = found.user(ctx.user, f"{place}.user") if ctx.user else (User(), place)
    server = _server(cluster.server, f"{cluster_place}.server")
    ca = _pem(cluster.ca_data, cluster.ca_file, cluster_place, "certificate-authority")
    if cluster.insecure and ca:
        raise InputError(
            f"{cluster_place}.insecure-skip-tls-verify", "cannot be set together with a certificate authority"
        )
    return Connection(
        server=server,
        namespace=ctx.namespace or "default",
        ca=ca,
        ca_file=Path(cluster.ca_file) if cluster.ca_file and not cluster.ca_data else None,
        verify=not cluster.insecure,
        server_name=cluster.tls_server_name,
        credentials=_credentials(user, user_place, cluster, ca),
        proxy=_proxy(cluster, cluster_place, server, environ),
        fields=impersonation(user, user_place),
        source=f"context {name!r} of {found.place}",
    )


def _server(text: str, place: str) -> str:
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("https", "http") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or any(ch.isspace() or ord(ch) < 32 for ch in text) or parts.query or parts.fragment:
        raise InputError(place, f"expected an address such as https://10.0.0.1:6443, got {text[:200]!r}")
    return text.rstrip("/")


def _proxy(cluster: ClusterEntry, place: str, server: str, environ: Mapping[str, str]) -> Proxy | None:
    """What the kubeconfig names comes first, and NO_PROXY says nothing about it."""
    if cluster.proxy_url:
        return proxy_of(cluster.proxy_url, f"{place}.proxy-url")
    return environment_proxy(server, environ)


def _credentials(user: User, place: str, cluster: ClusterEntry, ca: str) -> Credentials:
    certificate = _pem(user.certificate_data, user.certificate_file, place, "client-certificate")
    key = _pem(user.key_data, user.key_file, place, "client-key")
    if bool(certificate) != bool(key):
        raise InputError(place, "client-certificate and client-key are needed together")
    if user.username or user.password:
        raise InputError(f"{place}.username", "API servers no longer take a name and a password")
    if user.auth_provider is not None:
        raise InputError(f"{place}.auth-provider", "no longer exists in Kubernetes; use exec instead")
    if user.exec is not None:
        if user.token or user.token_file:
            raise InputError(f"{place}.exec", "cannot be set together with a token")
        return FromPlugin(_plugin(user.exec, f"{place}.exec", cluster, ca))
    fixed = Credential(token=user.token, certificate=certificate, key=key)
    token = Path(user.token_file) if user.token_file else None
    shown = Path(user.certificate_file) if user.certificate_file and not user.certificate_data else None
    own = Path(user.key_file) if user.key_file and not user.key_data else None
    if token or shown or own:
        return FromFiles(token=token, certificate=shown, key=own, fixed=fixed)
    return Fixed(fixed)


def _plugin(spec: Exec, place: str, cluster: ClusterEntry, ca: str) -> ExecPlugin:
    if spec.api_version not in EXEC_VERSIONS:
        known = " or ".join(EXEC_VERSIONS)
        raise InputError(f"{place}.apiVersion", f"expected {known}, got {spec.api_version!r}")
    if not spec.command:
        raise InputError(f"{place}.command", "the command of the credential plugin is missing")
    if spec.interactive_mode == "Always":
        raise InputError(f"{place}.interactiveMode", "plugins that need a terminal are not supported")
    return ExecPlugin(
        place=place,
        api_version=spec.api_version,
        command=spec.command,
        args=tuple(spec.args or ()),
        env={each.name: each.value for each in spec.env or ()},
        hint=spec.install_hint.strip(),
        cluster=_cluster_info(cluster, ca) if spec.provide_cluster_info else None,
    )


def _cluster_info(cluster: ClusterEntry, ca: str) -> dict[str, Any]:
    """What a plugin is told about the cluster, where it asked for that."""
    info: dict[str, Any] = {"server": cluster.server}
    if cluster.tls_server_name:
        info["tls-server-name"] = cluster.tls_server_name
    if cluster.insecure:
        info["insecure-skip-tls-verify"] = True
    if cluster.proxy_url:
        info["proxy-url"] = cluster.proxy_url
    if ca:
        info["certificate-authority-data"] = base64.b64encode(ca.encode()).decode()
    return info


def _pem(inline: str, file: str, place: str, what: str) -> str:
    """PEM text from base64 in the file itself, which comes first, or from a file of its own; '' if neither."""
    if inline:
        try:
            return base64.b64decode("".join(inline.split()), validate=True).decode("ascii")
        except (binascii.Error, ValueError) as error:
            raise InputError(f"{place}.{what}-data", "expected PEM text in base64") from error
    return read_text(Path(file), what) if file else ""
