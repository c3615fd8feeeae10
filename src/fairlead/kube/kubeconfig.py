"""The kubeconfig format: reading files, merging them, looking things up by name."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from fairlead.dataclass import dataclass
from fairlead.kube.credentials import read_text
from fairlead.model.errors import InputError
from fairlead.text.mistakes import converted

MAX_CHARS = 4 * 2**20


class _Loader(yaml.SafeLoader):
    """Safe YAML in which only null, true and false are more than text: a token may look like a number or a date.

    Not the loader in C: text nested very deeply ends its process, and kubeconfigs are small.
    """


_KEPT = ("tag:yaml.org,2002:null", "tag:yaml.org,2002:bool", "tag:yaml.org,2002:merge")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag in _KEPT]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class ConfigPart(msgspec.Struct, rename="kebab", frozen=True):
    """Base of the parts of a kubeconfig; unknown fields are ignored."""


class Anything(ConfigPart, frozen=True):
    """A block of which only the presence matters."""


class ClusterEntry(ConfigPart, frozen=True):
    server: str = ""
    ca_file: str = msgspec.field(name="certificate-authority", default="")
    ca_data: str = msgspec.field(name="certificate-authority-data", default="")
    insecure: bool = msgspec.field(name="insecure-skip-tls-verify", default=False)
    tls_server_name: str = ""
    proxy_url: str = ""


class ExecEnv(msgspec.Struct, frozen=True):
    name: str
    value: str = ""


class Exec(msgspec.Struct, rename="camel", frozen=True):
    api_version: str = ""
    command: str = ""
    args: list[str] | None = None
    env: list[ExecEnv] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class User(ConfigPart, frozen=True):
    certificate_file: str = msgspec.field(name="client-certificate", default="")
    certificate_data: str = msgspec.field(name="client-certificate-data", default="")
    key_file: str = msgspec.field(name="client-key", default="")
    key_data: str = msgspec.field(name="client-key-data", default="")
    token: str = ""
    token_file: str = msgspec.field(name="tokenFile", default="")
    username: str = ""
    password: str = ""
    auth_provider: Anything | None = None
    exec: Exec | None = None
    as_user: str = msgspec.field(name="as", default="")
    as_uid: str = ""
    as_groups: list[str] = []
    as_user_extra: dict[str, list[str]] = {}


class Context(ConfigPart, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: ClusterEntry = ClusterEntry()


class NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: User = User()


class NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: Context = Context()


class File(ConfigPart, frozen=True):
    """One file as written."""

    kind: str = "Config"
    clusters: list[NamedCluster] = []
    users: list[NamedUser] = []
    contexts: list[NamedContext] = []
    current_context: str = ""


P = TypeVar("P")


@dataclass(slots=True)
class Found:
    """Several files as one: everything by name, with the place it was found at."""

    place: str
    current: str = ""
    clusters: dict[str, tuple[ClusterEntry, str]] = field(default_factory=dict)
    users: dict[str, tuple[User, str]] = field(default_factory=dict)
    contexts: dict[str, tuple[Context, str]] = field(default_factory=dict)

    def context(self, name: str) -> tuple[Context, str]:
        return _look(self.contexts, name, self.place, "context")

    def cluster(self, name: str, asked_at: str) -> tuple[ClusterEntry, str]:
        return _look(self.clusters, name, asked_at, "cluster")

    def user(self, name: str, asked_at: str) -> tuple[User, str]:
        return _look(self.users, name, asked_at, "user")


def _look(named: Mapping[str, tuple[P, str]], name: str, place: str, what: str) -> tuple[P, str]:
    if name in named:
        return named[name]
    known = ", ".join(sorted(named)[:8]) or "none"
    raise InputError(place, f"there is no {what} named {name!r} (there are: {known})")


def paths(explicit: str, environ: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """The files to read. One that was named by the caller must exist; of a list in KUBECONFIG, one of them."""
    if explicit:
        return (Path(explicit),)
    listed = tuple(Path(part) for part in environ.get("KUBECONFIG", "").split(":") if part)
    if listed:
        there = tuple(path for path in dict.fromkeys(listed) if path.exists())
        if not there:
            raise InputError("KUBECONFIG", f"none of these files exists: {', '.join(map(str, listed))}")
        return there
    default = home / ".kube" / "config"
    return (default,) if default.exists() else ()


def read(files: Sequence[Path]) -> Found:
    """The files as one; the first to name a thing wins."""
    found = Found(place=", ".join(map(str, files)))
    for path in files:
        _merge(found, parse(read_text(path, "kubeconfig"), str(path)), path)
    return found


def parse(text: str, place: str) -> File:
    """One kubeconfig from YAML or JSON text."""
    if len(text) > MAX_CHARS:
        raise InputError(place, f"a kubeconfig of {len(text)} characters is not read; the limit is {MAX_CHARS}")
    try:
        plain = yaml.load(text, Loader=_Loader)  # a subclass of the safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        spot = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise InputError(f"{place}{spot}", f"not YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(place, f"not YAML: {' '.join(str(error).split()) or 'nested too deeply'}") from error
    if plain is None:
        return File()
    file = converted(_present(plain, {}), File, f"{place}: not a kubeconfig")
    if file.kind != "Config":
        raise InputError(f"{place}: kind", f"expected Config, got {file.kind!r}")
    return file


def _present(value: Any, memo: dict[int, Any], depth: int = 0) -> Any:
    """Without nulls, which mean the same as absent; no deeper than a kubeconfig goes.

    What stands in several places by a YAML alias is walked once, or a few lines could take for ever.
    """
    if depth > 8 or not isinstance(value, dict | list):
        return value
    if id(value) not in memo:
        if isinstance(value, dict):
            memo[id(value)] = {k: _present(v, memo, depth + 1) for k, v in value.items() if v is not None}
        else:
            memo[id(value)] = [_present(inner, memo, depth + 1) for inner in value]
    return memo[id(value)]


def _merge(found: Found, file: File, path: Path) -> None:
    found.current = found.current or file.current_context
    folder = path.parent
    for i, cluster in enumerate(file.clusters):
        place = f"{path}: clusters[{i}].cluster"
        resolved = msgspec.structs.replace(cluster.cluster, ca_file=_from(folder, cluster.cluster.ca_file))
        found.clusters.setdefault(cluster.name, (resolved, place))
    for i, user in enumerate(file.users):
        found.users.setdefault(user.name, (_resolved(user.user, folder), f"{path}: users[{i}].user"))
    for i, context in enumerate(file.contexts):
        found.contexts.setdefault(context.name, (context.context, f"{path}: contexts[{i}].context"))


def _resolved(user: User, folder: Path) -> User:
    plugin = user.exec
    if plugin is not None and "/" in plugin.command:
        plugin = msgspec.structs.replace(plugin, command=_from(folder, plugin.command))
    return msgspec.structs.replace(
        user,
        certificate_file=_from(folder, user.certificate_file),
        key_file=_from(folder, user.key_file),
        token_file=_from(folder, user.token_file),
        exec=plugin,
    )


def _from(folder: Path, name: str) -> str:
    """A path in a kubeconfig, seen from the file it stands in; '' stays ''."""
    return str(folder / name) if name else ""
