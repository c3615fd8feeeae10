"""Messages and edges: no traceback reaches a user, and what is said is true and enough."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from fairlead.cli.main import cli, main
from fairlead.model.errors import InputError
from tests.cli.test_reading import away_from, node, pod, saved

VERBS = ("divide", "share", "split", "place", "balance")


def run(*words: str, given: str = "") -> Result:
    """A command in this process."""
    return CliRunner().invoke(cli, list(words), input=given, standalone_mode=False)


def refused(*words: str, given: str = "") -> str:
    """The one line of a refusal."""
    error = run(*words, given=given).exception
    assert isinstance(error, InputError), error
    return str(error)


def planned(*words: str) -> dict[str, Any]:
    """The plan in JSON."""
    return dict(json.loads(run("plan", *words, "-o", "json").stdout))


def process(*words: str, stdout: Any = subprocess.PIPE, **more: Any) -> "subprocess.CompletedProcess[bytes]":
    """A command in a process of its own."""
    command = [sys.executable, "-m", "fairlead", *words]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, check=False, **more)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("text", ["# only a comment\n", "---\n", "null\n", "---\nnull\n---\n# x\n"])
def test_a_problem_of_nothing_is_bad_input(verb: str, text: str) -> None:
    """One line, on every verb."""
    assert "holds nothing but comments" in refused(verb, "-f", "-", given=text)


@pytest.mark.parametrize(
    ("name", "says"),
    [("", "is empty"), ("Batch_1", "'Batch_1', by which no lease"), ("-", "'-'"), ("a" * 250, "by which no lease")],
)
def test_a_scheduler_that_cannot_be_elected_does_not_start(name: str, says: str) -> None:
    """Its lease would be refused for good, with a warning every other second."""
    assert says in refused("scheduler", "--name", name)


def test_a_fleet_scheduler_that_cannot_be_elected_does_not_start(tmp_path: Path) -> None:
    """Its lease is called by the name in the configuration."""
    file = tmp_path / "config.yaml"
    file.write_text("apiVersion: fairlead.io/v1alpha1\nkind: Configuration\nfleet: {name: Batch_1}\n")
    assert "fleet.name: is 'Batch_1', by which no lease can be called" in refused("fleet", "--config", str(file))


def test_a_full_disk_is_told_in_one_line() -> None:
    """Output that cannot be written: exit code 2 and no traceback, at the end of the process neither."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "wb") as full:
        done = process("plan", "-f", "examples/shop", stdout=full)
    assert done.returncode == 2
    assert done.stderr.decode().splitlines()[-1] == "fairlead: the output cannot be written: no space left on device"
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("closed", ["1", "2"])
def test_closed_output_is_no_traceback(closed: str) -> None:
    """Nobody reads what a stream would show that the caller has closed; the exit code is that of the answer."""
    command = f'exec "{sys.executable}" -m fairlead plan -f examples/shop {closed}>&-'
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize("command", ["plan", "divide"])
def test_closed_standard_input_is_bad_input(command: str) -> None:
    """`<&-` in a shell."""
    word = f"exec {sys.executable} -m fairlead {command} -f - <&-"
    done = subprocess.run(["bash", "-c", word], capture_output=True, check=False)
    assert (done.returncode, b"Traceback" in done.stderr) == (2, False)
    assert b"standard input: is closed; expected JSON or YAML" in done.stderr


def test_an_ascii_terminal_gets_ascii() -> None:
    """Bars, arrows and dots as signs that the terminal has."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = process("plan", "-f", "examples/shop", "-o", "table", env=environment)
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.isascii()
    assert b"(# now, + new)" in done.stdout
    explained = process("explain", "-f", "examples/shop", "shop/web", env=environment)
    assert (explained.returncode, explained.stdout.isascii(), b"->" in explained.stdout) == (0, True, True)


@pytest.mark.parametrize(
    ("encoding", "drawn"),
    [
        ("latin-1", "(# now, + new)"),
        ("cp1252", "north-od-1 ×2"),
        ("koi8-r", "north-od-1 x2"),
        ("gbk", "(█ now, ▓ new)"),
    ],
)
def test_a_terminal_of_another_encoding_gets_what_it_has(encoding: str, drawn: str) -> None:
    """What the encoding lacks is drawn in ASCII, the rest as it is; nothing ends in a traceback."""
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    done = process("plan", "-f", "examples/shop", "-o", "table", env=environment)
    assert (done.returncode, done.stderr) == (1, b"")
    assert drawn in done.stdout.decode(encoding)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("form", ["json", "yaml"])
def test_names_that_an_encoding_lacks_are_escaped_in_records(encoding: str, form: str) -> None:
    """Whatever reads the answer gets the same names, and two of them do not become one."""
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    problem = {
        "strategy": "auto",
        "count": 3,
        "nodes": [{"name": "é日", "capacity": 2}, {"name": "é本", "capacity": 2}],
    }
    done = process("place", "-f", "-", "-o", form, env=environment, input=json.dumps(problem).encode())
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout) if form == "json" else yaml.safe_load(done.stdout.decode("ascii"))
    assert answer["placements"] == {"é日": 2, "é本": 1}


HALVES: dict[str, dict[str, Any]] = {
    "divide": {"workload": {"name": "w\ud800", "replicas": 3}, "clusters": [{"name": "a\ud800"}]},
    "share": {"total": {"cpu": "4"}, "queues": [{"name": "a\ud800"}], "jobs": [{"name": "j", "replicas": 1}]},
    "place": {"strategy": "auto", "count": 1, "nodes": [{"name": "a\ud800", "capacity": 3}]},
    "balance": {"size": 1, "nodes": [{"name": "a\ud800", "disks": [{"name": "d", "usable": 5}]}]},
}


@pytest.mark.parametrize("verb", HALVES)
def test_half_a_character_in_a_name_is_printed_as_json_has_it(verb: str) -> None:
    """JSON can name one half of a wide character, which no encoding has: the answer names it in the same way."""
    problem = json.dumps(HALVES[verb]).encode()
    answers = {form: process(verb, "-f", "-", "-o", form, input=problem) for form in ("json", "yaml", "table")}
    assert {form: (done.returncode, done.stderr) for form, done in answers.items()} == dict.fromkeys(answers, (0, b""))
    assert all(b"a\\ud800" in done.stdout.lower() for done in answers.values())
    assert "a\ud800" in json.dumps(json.loads(answers["json"].stdout), ensure_ascii=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_mistake_that_cannot_be_told_is_bad_input_all_the_same() -> None:
    """Standard error is full: the exit code is what is left."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run([sys.executable, "-m", "fairlead", "place", "-f", "/none"], stderr=full, check=False)
    assert done.returncode == 2


def test_a_stream_without_an_encoding_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever calls the command line inside a program may give it a text in memory."""
    written = io.StringIO()
    monkeypatch.setattr(sys, "argv", ["fairlead", "explain", "-f", "examples/shop", "shop/web"])
    monkeypatch.setattr(sys, "stdout", written)
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, "→" in written.getvalue()) == (0, True)


def test_a_plain_equals_sign_is_a_text(tmp_path: Path) -> None:
    """As the CRDs of kube-prometheus have it in their enums; the rest of the file is not lost."""
    (tmp_path / "a.yaml").write_text(
        "apiVersion: x/v1\nkind: Rule\nspec: {enum: [=, '!=']}\n---\n" + json.dumps(node("a", "1")) + "\n"
    )
    assert planned("-f", str(tmp_path))["notCounted"] == {"Rule.x": 1}


def test_flow_yaml_is_not_taken_for_json() -> None:
    """A bracket opens it too; what opens as JSON is told as JSON."""
    done = run("place", "-f", "-", "-o", "json", given="{count: 1, nodes: [{name: a}]}")
    assert json.loads(done.stdout)["placements"] == {"a": 1}
    assert "is not valid JSON" in refused("place", "-f", "-", given='{"count": 1, "nodes": [{]}')


def test_a_generated_name_is_numbered(tmp_path: Path) -> None:
    """Two objects with one prefix are two objects."""
    jobs = [
        {
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "sweep-", "namespace": "lab"},
            "spec": {"template": {"spec": pod("x")["spec"]}},
        }
    ] * 2  # fmt: skip
    record = planned("-f", saved(tmp_path / "a.json", node("a", "4"), *jobs))
    assert [each["workload"] for each in record["sites"][0]["workloads"]] == ["lab/sweep-1", "lab/sweep-2"]


def test_a_helm_template_is_recognised(tmp_path: Path) -> None:
    """The way to render it is named, with the line."""
    text = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Values.name }}-x\n"
    (tmp_path / "deployment.yaml").write_text(text)
    done = run("plan", "-f", str(tmp_path))
    assert "deployment.yaml:4: is a Helm template, not YAML; render it first: helm template" in done.stderr


@pytest.mark.parametrize(
    ("name", "way"),
    [("kustomization.yaml", "kubectl kustomize"), ("Chart.yaml", "helm template"), ("values.yaml", "helm")],
)
def test_what_manifests_are_made_from_names_the_way_to_make_them(tmp_path: Path, name: str, way: str) -> None:
    """A kustomization may leave out its kind; a chart has files that are no objects."""
    (tmp_path / name).write_text("resources: [base]\n")
    assert f"{name}:1: " in (told := run("plan", "-f", str(tmp_path)).stderr)
    assert f"first: {way}" in told


def lacking(tmp_path: Path, wanted: dict[str, Any], *there: dict[str, Any]) -> dict[str, Any]:
    """The finding of a pod that finds no node."""
    record = planned("-f", saved(tmp_path / "a.json", *there, wanted))
    (found,) = next(each for each in record["sites"][0]["workloads"] if each["unplaced"])["findings"]
    return dict(found)


def test_cures_name_what_would_help(tmp_path: Path) -> None:
    """More room does not select a node, nor bring or remove a neighbour."""
    away = pod("new", affinity=away_from("guard"))
    near = pod("new", affinity={"podAffinity": away_from("guard")["podAntiAffinity"]})
    guard = pod("guard", on="a", labels={"app": "guard"})
    assert lacking(tmp_path, pod("new", nodeSelector={"gpu": "yes"}), node("a", "4"))["cure"] == "edit"
    assert lacking(tmp_path, away, node("a", "4"), guard)["cure"] == "eviction"
    assert lacking(tmp_path, near, node("a", "4"))["cure"] == "edit"
    assert lacking(tmp_path, pod("new"), node("a", "500m"))["cure"] == "room"


def test_no_room_names_the_resource_and_how_much_is_missing(tmp_path: Path) -> None:
    """The least that one of the full nodes lacks; a resource that no node has is said to be nowhere."""
    found = lacking(tmp_path, pod("new"), node("a", "500m"), node("b", "700m"))
    assert found["message"] == "1 of 1 found no node: 2 nodes InsufficientRoom (300m cpu short)"
    fpga = pod("new")
    fpga["spec"]["containers"][0]["resources"]["requests"]["example.com/fpga"] = "1"
    assert "(no node has example.com/fpga)" in lacking(tmp_path, fpga, node("a", "4"))["message"]


def test_semantic_errors_keep_file_and_line(tmp_path: Path) -> None:
    """The second line of a JSONL says what is wrong with it, and where."""
    good, bad = '{"count":1,"nodes":[{"name":"a"}]}', '{"count":-1,"nodes":[{"name":"a"}]}'
    path = tmp_path / "many.jsonl"
    path.write_text(f"{good}\n{bad}\n")
    done = run("place", "-f", str(path), "-o", "json")
    assert f"{path}:2: $.count: -1 replicas; expected from 1" in done.stderr
    assert json.loads(done.stdout.splitlines()[1])["error"]["path"] == f"{path}:2: $.count"
    assert refused("place", "-f", "-", given=bad).startswith("-: $.count: -1")


def test_a_wrong_choice_lists_the_choices_and_a_wrong_field_the_right_one() -> None:
    """So that nobody has to look it up."""
    wrong = '{"strategy":"fill","count":1,"nodess":[{"name":"a"}]}'
    assert "object contains unknown field nodess; did you mean nodes?" in refused("place", "-f", "-", given=wrong)
    inner = '{"total":{"cpu":1},"jobs":[{"name":"j","preemptionPolicy":"never","request":{}}]}'
    said = refused("share", "-f", "-", given=inner)
    assert "invalid enum value 'never'; expected one of Never, PreemptLowerPriority" in said


def test_a_wrong_command_gets_the_right_one() -> None:
    """Or the way to the list of all."""
    assert "No such command 'pln'; did you mean plan?" in process("pln").stderr.decode()
    assert "No such command 'xyzzy'; see fairlead help" in process("xyzzy").stderr.decode()


def test_config_check_lists_every_mistake_with_its_line(tmp_path: Path) -> None:
    """In the order of the text; the exit code is 2."""
    path = tmp_path / "c.yaml"
    path.write_text(
        "apiVersion: fairlead.io/v1alpha1\nkind: Configuration\ntier:\n  spotWieght: 3\n  spotWeight: 300\n"
        "scheduler:\n  strategy: comunism\nwebhok: {}\n"
    )
    done = process("config", "check", "-f", str(path))
    assert done.returncode == 2
    assert done.stderr.decode().replace(str(path), "c").splitlines() == [
        "fairlead: c:4: $.tier: object contains unknown field spotWieght; did you mean spotWeight?",
        "fairlead: c:5: $.tier.spotWeight: expected int <= 100",
        "fairlead: c:7: $.scheduler.strategy: invalid enum value 'comunism'; "
        "expected one of auto, communism, global-greedy",
        "fairlead: c:8: $: object contains unknown field webhok; did you mean webhook?",
    ]


def test_config_check_of_json_that_is_no_yaml_names_the_first_line(tmp_path: Path) -> None:
    """A lone half of a pair is JSON and no YAML: the mistake is told all the same."""
    path = tmp_path / "c.json"
    path.write_text('{"apiVersion": "fairlead.io/v1alpha1", "kind": "Configuration", "x": "\\ud800"}')
    assert refused("config", "check", "-f", str(path)).startswith(f"{path}:1: $: object contains unknown field x")


def test_one_replica_is_one(tmp_path: Path) -> None:
    """Not `1 replicas`, in the plan and in its explanation."""
    given = saved(tmp_path / "a.json", node("a", "1"), pod("one"), pod("two"))
    drawn = run("plan", "-f", given, "-o", "table").stdout
    assert "1 replica placed, 1 waits for the reasons above." in drawn
    assert "Cluster: 1 node\n" in drawn
    assert ": 1 replica, 0 running already" in run("explain", "-f", given, "one").stdout
    drawn = run("plan", "-f", given, "-o", "table", "--drain", "a").stdout
    assert "Cluster: now 1 node, use" in drawn
    assert "0 moves; 1 waits now, 2 then." in drawn


def test_a_page_that_is_not_built_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in the name of another command."""
    monkeypatch.setattr("fairlead.web.assets.FOLDER", tmp_path)
    given = saved(tmp_path / "a.json", node("a", "1"))
    assert refused("plan", "-f", given, "--html", str(tmp_path / "x.html")).startswith("the page is not built; run")


IDLE = {
    "suspended": ({"suspend": True, "parallelism": 3}, {}, "it is suspended."),
    "done": ({"completions": 2, "parallelism": 2}, {"succeeded": 2}, "all its 2 completions are done."),
    "zero": ({"parallelism": 0}, {}, "it asks for 0 replicas."),
}


@pytest.mark.parametrize("name", IDLE)
def test_a_workload_without_replicas_is_explained_as_such(name: str, tmp_path: Path) -> None:
    """Not `no such workload`."""
    spec, status, want = IDLE[name]
    job = {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum", "namespace": "lab"},
        "spec": {**spec, "template": {"spec": pod("x")["spec"]}}, "status": status,
    }  # fmt: skip
    done = run("explain", "-f", saved(tmp_path / "a.json", node("a", "1"), job), "sum")
    assert done.stdout.strip() == f"Job lab/sum: {want}"


def test_diff_takes_what_a_what_if_printed(tmp_path: Path) -> None:
    """The changed plan in it is compared; with itself nothing changes."""
    (tmp_path / "drained.json").write_text(json.dumps(planned("-f", "examples/shop", "--drain", "west-spot-1")))
    record = json.loads(
        run("diff", str(tmp_path / "drained.json"), str(tmp_path / "drained.json"), "-o", "json").stdout
    )
    assert (record["workloads"], record["moves"]) == ([], 0)
    whole = json.loads(run("diff", "examples/shop", str(tmp_path / "drained.json"), "-o", "json").stdout)
    assert whole["workloads"]


def test_manifests_of_a_plan_say_what_they_cover(tmp_path: Path) -> None:
    """A Job without pods has nothing to bind yet: that is said; a pod that waits gets its Binding."""
    job = {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum", "namespace": "lab"},
        "spec": {"template": {"spec": pod("x")["spec"]}},
    }  # fmt: skip
    done = run("plan", "-f", saved(tmp_path / "a.json", node("a", "2"), pod("one"), job), "-o", "manifests")
    assert done.stdout.count("kind: Binding") == 1
    assert "1 workload (lab/sum) have no pods that wait yet, so there is nothing to bind" in done.stderr


def test_the_fleet_says_drawn_only_where_something_was_drawn(tmp_path: Path) -> None:
    """Four replicas over two equal clusters leave no remainder; five do."""

    def clusters(replicas: int) -> str:
        items: list[dict[str, Any]] = [
            {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
             "status": {"conditions": [{"type": "Ready", "status": "True"}]}} for name in ("m1", "m2")
        ]  # fmt: skip
        weights = [{"targetCluster": {"clusterNames": [name]}, "weight": 1} for name in ("m1", "m2")]
        scheduling = {
            "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
            "weightPreference": {"staticWeightList": weights},
        }  # fmt: skip
        items += [
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
             "spec": {"replicas": replicas, "template": {"spec": {"containers": [{"name": "c"}]}}}},
            {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
             "metadata": {"name": "web", "namespace": "shop"},
             "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
                      "placement": {"replicaScheduling": scheduling}}},
        ]  # fmt: skip
        return run("plan", "-f", saved(tmp_path / f"{replicas}.json", *items), "-o", "table").stdout

    assert "no remainder" in clusters(4)
    assert "draw; the remainder went to" in clusters(5)
