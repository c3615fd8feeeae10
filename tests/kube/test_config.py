"""Which server and as whom: kubeconfig files, their merging, credential plugins, the service account."""

import asyncio
import base64
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
import uvloop
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube import kubeconfig
from fairlead.kube.config import from_kubeconfig, load
from fairlead.kube.credentials import Credential, ExecPlugin, Fixed, FromFiles, FromPlugin
from fairlead.kube.kubeconfig import Found
from fairlead.model.errors import InputError
from tests.kube.authority import Authority
from tests.kube.things import until

AUTHORITY = Authority()
V1 = "client.authentication.k8s.io/v1"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def config(name: str = "dev", *, cluster: Any = None, user: Any = None, context: Any = None) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443", **(cluster or {})}}],
        "users": [{"name": name, "user": {"token": f"{name}-token"} if user is None else user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, **(context or {})}}],
    }


def write(path: Path, body: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(body if isinstance(body, str) else yaml.safe_dump(body))
    return path


async def test_current_context_is_used(tmp_path: Path) -> None:
    """Server, namespace and token come from the current context."""
    file = write(tmp_path / "config", config(context={"namespace": "shop"}))
    got = load(kubeconfig_path=str(file), environ={}, home=tmp_path)
    assert (got.server, got.namespace, got.verify, got.ca) == ("https://dev:6443", "shop", True, "")
    assert Credential(token="dev-token") == await got.credentials.current()
    assert got.source == f"context 'dev' of {file}"


async def test_files_in_kubeconfig_are_merged(tmp_path: Path) -> None:
    """The first file to name a thing wins; missing files are passed over; another context may be asked for."""
    one = config("dev")
    two = config("prod")
    two["clusters"].append({"name": "dev", "cluster": {"server": "https://wrong"}})
    paths = [write(tmp_path / "one", one), tmp_path / "missing", write(tmp_path / "two", two)]
    environ = {"KUBECONFIG": ":".join(map(str, paths))}
    assert load(environ=environ, home=tmp_path).server == "https://dev:6443"
    got = load(environ=environ, home=tmp_path, context="prod")
    assert (got.server, (await got.credentials.current()).token) == ("https://prod:6443", "prod-token")


def test_home_is_looked_at_last(tmp_path: Path) -> None:
    """Without KUBECONFIG the file in the home folder counts."""
    write(tmp_path / ".kube" / "config", config())
    assert load(environ={}, home=tmp_path).server == "https://dev:6443"


async def test_certificates_as_data_and_as_files(tmp_path: Path) -> None:
    """Data comes before files; relative paths count from the file they stand in."""
    pair = AUTHORITY.issue("me")
    write(tmp_path / "sub" / "ca.pem", AUTHORITY.pem)
    write(tmp_path / "sub" / "key.pem", pair.key)
    user = {"client-certificate-data": b64(pair.certificate), "client-key": "key.pem", "tokenFile": "token"}
    write(tmp_path / "sub" / "token", " t-1 \n")
    file = write(tmp_path / "sub" / "config", config(cluster={"certificate-authority": "ca.pem"}, user=user))
    got = load(kubeconfig_path=str(file), environ={}, home=tmp_path)
    assert got.ca == AUTHORITY.pem
    assert Credential(token="t-1", certificate=pair.certificate, key=pair.key) == await got.credentials.current()


def test_insecure_and_server_name_are_kept(tmp_path: Path) -> None:
    """Both reach the transport."""
    cluster = {"insecure-skip-tls-verify": True, "tls-server-name": "kubernetes"}
    file = write(tmp_path / "config", config(cluster=cluster))
    got = load(kubeconfig_path=str(file), environ={}, home=tmp_path)
    assert (got.verify, got.server_name) == (False, "kubernetes")


async def test_tokens_that_look_like_something_else_stay_text(tmp_path: Path) -> None:
    """A token of digits, or like a date, is text."""
    for token in ("12345", "2026-01-01", "1e3", "0x10"):
        text = yaml.safe_dump(config()).replace("dev-token", token)
        got = load(kubeconfig_path=str(write(tmp_path / "config", text)), environ={}, home=tmp_path)
        assert token == (await got.credentials.current()).token


async def test_nulls_and_unknown_fields_mean_nothing(tmp_path: Path) -> None:
    """As kubectl writes them: null lists, extensions, colours."""
    body = config(user={"token": None, "client-key": None}) | {"preferences": {"colors": True}, "extensions": None}
    got = load(kubeconfig_path=str(write(tmp_path / "c", body)), environ={}, home=tmp_path)
    assert await got.credentials.current() == Credential()


@dataclass(frozen=True)
class Wrong:
    """A kubeconfig that cannot be used, and what must be said about it."""

    body: Any
    want: str


WRONG = {
    "not YAML": Wrong("a: [1, 2", r"config:1:9: not YAML: "),
    "tab": Wrong("\tx", r"config:1:1: not YAML: "),
    "a list": Wrong("- a", r"config: not a kubeconfig: expected object, got array"),
    "another kind": Wrong({"kind": "Pod"}, "config: kind: expected Config, got 'Pod'"),
    "empty": Wrong("", "config: there is no current-context"),
    "no context": Wrong(config() | {"current-context": ""}, "config: there is no current-context; name one"),
    "unknown context": Wrong(config() | {"current-context": "x"}, r"there is no context named 'x' \(there are: dev\)"),
    "unknown cluster": Wrong(config() | {"clusters": []}, r"contexts\[0\].context.cluster: there is no cluster named"),
    "unknown user": Wrong(config() | {"users": []}, r"contexts\[0\].context.user: there is no user named 'dev'"),
    "no server": Wrong(config(cluster={"server": ""}), r"clusters\[0\].cluster.server: expected an address such as"),
    "server without scheme": Wrong(config(cluster={"server": "dev:6443"}), r"server: expected an address"),
    "server with a bad port": Wrong(config(cluster={"server": "https://x:99999"}), r"server: expected an address"),
    "wrong type": Wrong(config(cluster={"server": ["x"]}), r"clusters\[0\].cluster.server: expected str, got array"),
    "proxy of another kind": Wrong(
        config(cluster={"proxy-url": "socks5://me:secret@p:1"}),
        r"clusters\[0\].cluster.proxy-url: only proxies at http:// are supported, got 'socks5://…@p:1'",
    ),
    "proxy without a host": Wrong(config(cluster={"proxy-url": "http://:3128"}), r"proxy-url: expected an address"),
    "proxy with a bad port": Wrong(config(cluster={"proxy-url": "http://p:x"}), r"proxy-url: expected an address"),
    "groups without a user": Wrong(
        config(user={"token": "t", "as-groups": ["admins"]}), r"users\[0\].user.as: as-uid, as-groups and"
    ),
    "a user that no header can carry": Wrong(
        config(user={"token": "t", "as": "a\nb"}), r"users\[0\].user.as: 'a\\nb' cannot be sent in the header"
    ),
    "CA that is no base64": Wrong(
        config(cluster={"certificate-authority-data": "%%"}), "certificate-authority-data: expected PEM text in base64"
    ),
    "CA file missing": Wrong(
        config(cluster={"certificate-authority": "no.pem"}), "no.pem: the certificate-authority does not exist"
    ),
    "insecure with CA": Wrong(
        config(cluster={"insecure-skip-tls-verify": True, "certificate-authority-data": b64("x")}),
        "insecure-skip-tls-verify: cannot be set together",
    ),
    "certificate without key": Wrong(
        config(user={"client-certificate-data": b64("x")}), "client-certificate and client-key are needed together"
    ),
    "password": Wrong(config(user={"username": "a", "password": "b"}), "no longer take a name and a password"),
    "auth provider": Wrong(config(user={"auth-provider": {"name": "gcp"}}), "auth-provider: no longer exists"),
    "old plugin": Wrong(
        config(user={"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1alpha1"}}),
        "exec.apiVersion: expected client.authentication.k8s.io/v1 or",
    ),
    "plugin without command": Wrong(config(user={"exec": {"apiVersion": V1}}), "exec.command: the command of the"),
    "plugin that asks people": Wrong(
        config(user={"exec": {"apiVersion": V1, "command": "x", "interactiveMode": "Always"}}),
        "interactiveMode: plugins that need a terminal",
    ),
    "plugin and token": Wrong(
        config(user={"exec": {"apiVersion": V1, "command": "x"}, "token": "t"}), "exec: cannot be set together"
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_unusable_kubeconfig_is_named_with_its_place(case: str, tmp_path: Path) -> None:
    """One line with the file, the place in it, what was found and what was expected."""
    file = write(tmp_path / "config", WRONG[case].body)
    with pytest.raises(InputError, match=WRONG[case].want) as caught:
        load(kubeconfig_path=str(file), environ={}, home=tmp_path)
    assert "\n" not in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_missing_files_are_named(tmp_path: Path) -> None:
    """A file that was asked for must be there; so must one of a list; and without anything the whole search is told."""
    with pytest.raises(InputError, match="nowhere: the kubeconfig does not exist"):
        load(kubeconfig_path="nowhere", environ={}, home=tmp_path)
    with pytest.raises(InputError, match="KUBECONFIG: none of these files exists: /no/a, /no/b"):
        load(environ={"KUBECONFIG": "/no/a:/no/b"}, home=tmp_path)
    with pytest.raises(InputError, match="no cluster to talk to"):
        load(environ={}, home=tmp_path)
    with pytest.raises(InputError, match="the kubeconfig cannot be read: Is a directory"):
        load(kubeconfig_path=str(tmp_path), environ={}, home=tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="the kubeconfig is not text"):
        load(kubeconfig_path=str(tmp_path / "binary"), environ={}, home=tmp_path)


def test_in_cluster_is_used_where_there_is_no_file(tmp_path: Path) -> None:
    """Server from the environment, authority and namespace from the mounted folder."""
    folder = tmp_path / "sa"
    write(folder / "ca.crt", AUTHORITY.pem)
    write(folder / "namespace", "fairlead-system")
    write(folder / "token", "t")
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    got = load(environ=environ, home=tmp_path, service_account=folder)
    assert ("https://10.0.0.1:443", "fairlead-system", AUTHORITY.pem) == (got.server, got.namespace, got.ca)
    six = load(environ=environ | {"KUBERNETES_SERVICE_HOST": "fd00::1"}, home=tmp_path, service_account=folder)
    assert six.server == "https://[fd00::1]:443"
    with pytest.raises(InputError, match="not an address"):
        load(environ=environ | {"KUBERNETES_SERVICE_PORT": "x"}, home=tmp_path, service_account=folder)
    with pytest.raises(InputError, match="no kubeconfig in a cluster"):
        load(environ=environ, home=tmp_path, service_account=folder, context="dev")
    with pytest.raises(InputError, match=r"ca.crt: the CA certificate does not exist"):
        load(environ=environ, home=tmp_path, service_account=tmp_path)


async def test_token_file_is_read_again_now_and_then(tmp_path: Path) -> None:
    """A rotated token is picked up after some seconds, or at once after a refusal; an empty file is an error."""
    clock = [0.0]
    tokens = FromFiles(token=write(tmp_path / "token", "one"), clock=lambda: clock[0])
    assert (await tokens.current()).token == "one"
    write(tmp_path / "token", "two")
    assert (await tokens.current()).token == "one"
    clock[0] += 10
    assert (await tokens.current()).token == "two"
    write(tmp_path / "token", "three")
    tokens.refused()
    assert (await tokens.current()).token == "three"
    write(tmp_path / "token", "\n")
    tokens.refused()
    with pytest.raises(InputError, match="the token file is empty"):
        await tokens.current()


def script(path: Path, text: str) -> str:
    write(path, f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def answer(**status: str) -> str:
    body = msgspec.json.encode({"apiVersion": V1, "kind": "ExecCredential", "status": status}).decode()
    return f"cat <<'END'\n{body}\nEND"


async def test_plugin_is_run_with_its_environment(tmp_path: Path) -> None:
    """Arguments, environment and what it is told about the cluster arrive; a relative command counts from the file."""
    log = tmp_path / "log"
    script(tmp_path / "bin" / "login", f'echo "$1 $WHO $KUBERNETES_EXEC_INFO" >> {log}\n{answer(token="t-1")}')
    spec = {
        "apiVersion": V1,
        "command": "bin/login",
        "args": ["--now"],
        "env": [{"name": "WHO", "value": "me"}],
        "provideClusterInfo": True,
    }
    cluster = {"certificate-authority-data": b64("pem"), "tls-server-name": "k"}
    file = write(tmp_path / "config", config(user={"exec": spec}, cluster=cluster))
    got = load(kubeconfig_path=str(file), environ={}, home=tmp_path)
    first, second = await asyncio.gather(got.credentials.current(), got.credentials.current())
    assert (first, second) == (Credential(token="t-1"), Credential(token="t-1"))
    (line,) = log.read_text().splitlines()
    words, who, info = line.split(" ", 2)
    assert (words, who) == ("--now", "me")
    assert msgspec.json.decode(info) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {
            "interactive": False,
            "cluster": {
                "server": "https://dev:6443",
                "tls-server-name": "k",
                "certificate-authority-data": b64("pem"),
            },
        },
    }


async def test_plugin_answer_is_kept_until_it_expires(tmp_path: Path) -> None:
    """It is run again shortly before the expiry, and after a refusal."""
    log, now = tmp_path / "log", [1_000_000_000.0]
    expires = "2001-09-09T02:46:40Z"  # 1,000,003,600
    command = script(tmp_path / "login", f"echo x >> {log}\n{answer(token='t', expirationTimestamp=expires)}")
    source = FromPlugin(ExecPlugin(place="here", api_version=V1, command=command), now=lambda: now[0])
    for moment, runs in ((0.0, 1), (3500.0, 1), (3580.0, 2), (3581.0, 3)):
        now[0] = 1_000_000_000.0 + moment
        await source.current()
        assert runs == len(log.read_text().splitlines())
    now[0] = 1_000_000_000.0
    source.refused()
    await source.current()
    await source.current()
    assert len(log.read_text().splitlines()) == 4


async def test_plugin_may_give_a_certificate(tmp_path: Path) -> None:
    """A client certificate instead of a token."""
    pair = AUTHORITY.issue("me")
    text = answer(clientCertificateData=pair.certificate, clientKeyData=pair.key)
    source = FromPlugin(ExecPlugin(place="here", api_version=V1, command=script(tmp_path / "login", text)))
    assert Credential(certificate=pair.certificate, key=pair.key) == await source.current()


FAILING = {
    "fails": ("echo first >&2; echo no licence >&2; exit 3", "failed with 3: no licence"),
    "is silent": ("exit 1", "failed with 1: it said nothing"),
    "prints no JSON": ("echo hello", "printed no ExecCredential"),
    "prints another kind": ('echo \'{"kind": "Pod"}\'', r"answered \? Pod, expected client.authentication"),
    "gives nothing": (answer(), "gave neither a token nor a certificate"),
    "gives half a pair": (answer(clientCertificateData="x"), "gave only one of certificate and key"),
    "gives a bad time": (answer(token="t", expirationTimestamp="soon"), "expirationTimestamp is not a time"),
}


@pytest.mark.parametrize("case", FAILING)
async def test_plugin_that_fails_is_named_with_its_last_words(case: str, tmp_path: Path) -> None:
    """Every way a plugin can fail is one line with the place in the kubeconfig and the plugin's name."""
    text, want = FAILING[case]
    source = FromPlugin(
        ExecPlugin(place="users[0].user.exec", api_version=V1, command=script(tmp_path / "login", text))
    )
    with pytest.raises(InputError, match=want) as caught:
        await source.current()
    assert str(caught.value).startswith("users[0].user.exec: ")
    assert "\n" not in str(caught.value)


async def test_plugin_that_is_missing_or_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing plugin comes with the hint of the file; one that hangs is ended; one that is no program is named."""
    missing = ExecPlugin(place="here", api_version=V1, command="no-such-plugin-anywhere", hint="get it from the shop")
    with pytest.raises(InputError, match="'no-such-plugin-anywhere' is not installed; get it from the shop"):
        await FromPlugin(missing).current()
    plain = write(tmp_path / "plain", "text")
    with pytest.raises(InputError, match=r"cannot be started: .*Permission denied"):
        await FromPlugin(ExecPlugin(place="here", api_version=V1, command=str(plain))).current()
    monkeypatch.setattr("fairlead.kube.credentials.PLUGIN_SECONDS", 0.05)
    hanging = ExecPlugin(place="here", api_version=V1, command=script(tmp_path / "hang", "exec sleep 60"))
    with pytest.raises(InputError, match="did not answer in"):
        await FromPlugin(hanging).current()


async def test_plugin_ends_with_the_request_it_is_run_for(tmp_path: Path) -> None:
    """A request that is cancelled, or that runs into a bound of its own, leaves no process behind."""
    file = tmp_path / "pid"
    slow = ExecPlugin(
        place="here", api_version=V1, command=script(tmp_path / "slow", f"echo $$ > {file}; exec sleep 60")
    )
    asking = asyncio.create_task(FromPlugin(slow).current())
    await until(lambda: file.exists() and file.read_text().endswith("\n"))
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text()), 0)


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_plugin_that_runs_another_program_is_not_waited_for(run: Callable[..., None], tmp_path: Path) -> None:
    """What a script started holds its output open for as long as that runs."""
    file = tmp_path / "pid"
    slow = ExecPlugin(place="here", api_version=V1, command=script(tmp_path / "slow", f"echo $$ > {file}; sleep 5; :"))

    async def main() -> None:
        clock = asyncio.get_running_loop().time
        asking = asyncio.create_task(FromPlugin(slow).current())
        await until(lambda: file.exists() and file.read_text().endswith("\n"))
        await asyncio.sleep(0.2)  # its output is being read by now
        begun = clock()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert clock() - begun < 4.0
        with pytest.raises(ProcessLookupError):
            os.kill(int(file.read_text()), 0)

    run(main())


async def test_credentials_do_not_show_in_their_text() -> None:
    """Secrets stay out of logs."""
    assert "secret" not in repr(Fixed(Credential(token="secret", key="secret", certificate="secret")))


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | st.sampled_from(["dev", V1])
WORDS = """clusters users contexts current-context name cluster user context server exec kind command args env
apiVersion token tokenFile certificate-authority-data proxy-url auth-provider
as as-uid as-groups as-user-extra"""
NAMES = st.sampled_from(WORDS.split())
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=20
)


@given(TREES)
def test_any_tree_as_kubeconfig_gives_a_connection_or_our_error(tree: Any) -> None:
    """Whatever stands in the file, only InputError comes out."""
    check(yaml.safe_dump(tree))


@given(st.text(max_size=80) | st.from_regex(r"[&*!|>{}\[\]:,\-?#'\"% a<0-9\n]{1,40}", fullmatch=True))
def test_any_text_as_kubeconfig_gives_a_connection_or_our_error(text: str) -> None:
    """Whatever bytes stand in the file, only InputError comes out."""
    check(text)


@given(st.data())
def test_any_single_change_of_a_good_kubeconfig_is_survived(data: st.DataObject) -> None:
    """One value of a working file replaced by anything."""
    body = config(
        user={"exec": {"apiVersion": V1, "command": "x", "args": ["a"], "env": [{"name": "a", "value": "b"}]}}
    )
    spot: Any = body
    while True:
        keys = list(spot) if isinstance(spot, dict) else list(range(len(spot)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(spot[key], dict | list) or not spot[key] or data.draw(st.booleans()):
            spot[key] = data.draw(TREES)
            break
        spot = spot[key]
    check(yaml.safe_dump(body))


def check(text: str) -> None:
    found = Found(place="fuzz")
    try:
        kubeconfig._merge(found, kubeconfig.parse(text, "fuzz"), Path("/fuzz/config"))
        got = from_kubeconfig(found)
    except InputError as error:
        said = str(error)
        assert said
        assert "\n" not in said
    else:
        assert got.server.startswith("http")


def test_yaml_that_explodes_is_survived() -> None:
    """Aliases of aliases, and nesting without end."""
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(8)
    )
    check(bomb + "users: *i\n")
    check(bomb + "users: [{name: x, user: {auth-provider: {x: *i}, exec: {args: *i}}}]\n")
    check(bomb + "extensions: *i\n")
    check("users: &u [*u]\n")
    check("- " * 3000)
    check("x" * (kubeconfig.MAX_CHARS + 1))
