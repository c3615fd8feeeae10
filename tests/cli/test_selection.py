"""What is shown, as kubectl's options say: one namespace, labels; the plan itself is made of everything."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fairlead.cli.main import cli
from fairlead.cli.queue import of_namespace
from fairlead.cli.selection import labels_hold
from fairlead.model.errors import InputError
from tests.cli.clusters import Folder, keeper, node


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words), standalone_mode=False)


def test_one_namespace_or_all_of_them() -> None:
    """`-n` shows that namespace alone, `-A` everything, both are a contradiction, and an unknown one is said."""
    asked = (("-n", "shop"), ("-A",), ())
    shop, every, plain = (run("plan", "-f", "examples/shop", "-o", "name", *more) for more in asked)
    names = set(every.stdout.split())
    assert names == set(plain.stdout.split())
    assert set(shop.stdout.split()) == {name for name in names if "/shop/" in name} != names
    assert "contradict" in str(run("plan", "-f", "examples/shop", "-n", "a", "-A").exception)
    assert "no workload in namespace nope" in run("plan", "-f", "examples/shop", "-o", "name", "-n", "nope").stderr


def test_selector_reads_the_labels_of_pods(tmp_path: Path) -> None:
    """What waits elsewhere is not shown, and does not make the exit code 1; the use of nodes is that of all."""
    here = Folder(tmp_path, node("n1"), keeper("Deployment", "web", replicas=2), keeper("Deployment", "big", "9"))
    whole, web = here.run("plan", "-o", "json"), here.run("plan", "-o", "json", "-l", "app=web")
    assert (whole.return_value, web.return_value) == (1, 0)
    (site,) = json.loads(web.stdout)["sites"]
    assert [each["workload"] for each in site["workloads"]] == ["shop/web"]
    assert site["use"] == json.loads(whole.stdout)["sites"][0]["use"]
    assert here.waits("--scale", "shop/web=9", "-l", "app=web") == 5


@pytest.mark.parametrize(
    ("selector", "holds"),
    [
        ("", True),
        ("a=1", True),
        ("a==1,b", True),
        ("a!=1", False),
        ("!c", True),
        ("c", False),
        ("a=2", False),
        ("a in (0, 1),b", True),
        ("a in (2,3)", False),
        ("a notin (2,3)", True),
        ("b,a notin (1)", False),
        ("c notin (1)", True),
        ("c in (1)", False),
    ],
)
def test_selectors_of_kubectl(selector: str, holds: bool) -> None:
    """Equal, not equal, there, not there, one of some, none of them; all have to hold."""
    assert labels_hold(selector)({"a": "1", "b": ""}) is holds


def test_selector_that_cannot_be_read() -> None:
    """The part that is wrong is named."""
    with pytest.raises(InputError, match=r"'a in x'; expected KEY=VALUE"):
        labels_hold("b,a in x")


def test_explain_takes_a_namespace() -> None:
    """`explain deploy web -n shop` is `explain deploy/shop/web`."""
    assert run("explain", "-f", "examples/shop", "deploy", "web", "-n", "shop").stdout == (
        run("explain", "-f", "examples/shop", "deploy/shop/web").stdout
    )
    assert run("explain", "-f", "examples/shop", "web", "-n", "other").exception is not None


def test_queue_of_one_namespace() -> None:
    """Its jobs and its share; the queues are shown whole."""
    from fairlead.cli.given import catalogue_of, given
    from fairlead.cli.queue import look

    decision = look(catalogue_of(given(["examples/gpu-queue/cluster"]))).decision
    space = decision.jobs[0].namespace
    own = of_namespace(decision, space)
    assert {job.namespace for job in own.jobs} == {space} != {job.namespace for job in decision.jobs}
    assert {row.namespace for row in own.namespaces} == {space}
    assert own.queues == decision.queues
