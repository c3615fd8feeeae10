"""The interface answers what the command line prints, and what the page shows."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

import fairlead
from fairlead.cli.main import cli
from fairlead.engine.plan import plan
from fairlead.kube.manifests.view import viewed
from fairlead.web.views import VIEWS, Look

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
WRITTEN = re.compile(r"echo '(\{.*?\})' *\\?\n?>? *\| fairlead (divide|share|place|balance) -f -", re.DOTALL)
FILES = {
    "share": ["queues/fairshare.json"],
    "place": ["nodes/rack.json"],
    "balance": ["storage/scenario.json", "storage/moves.yaml"],
}


def problems() -> list[Any]:
    """Every problem of the examples, of the pages and of the help of a command."""
    found = [
        pytest.param(verb, yaml.safe_load((EXAMPLES / name).read_text()), id=name)
        for verb, names in FILES.items()
        for name in names
    ]
    pages = [*sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "src/fairlead/cli").glob("*.py"))]
    for page in pages:
        for number, match in enumerate(WRITTEN.finditer(page.read_text())):
            found.append(pytest.param(match[2], json.loads(match[1].replace("\n> ", "\n")), id=f"{page.name}-{number}"))
    return found


def printed(*arguments: str, given: Any = None) -> Any:
    """What a command prints as JSON."""
    text = None if given is None else json.dumps(given)
    result = CliRunner().invoke(cli, [*arguments, "-o", "json"], input=text, standalone_mode=False)
    assert result.exception is None, result.exception
    return json.loads(result.stdout)


def test_every_verb_has_an_example() -> None:
    """The equality below is about something."""
    assert {each.values[0] for each in problems()} == {"divide", "share", "place", "balance"}


@pytest.mark.parametrize(("verb", "problem"), problems())
def test_verb_answers_what_its_command_prints(verb: str, problem: Any) -> None:
    """One problem, one answer: as a dict, and in sentences."""
    answer = getattr(fairlead, verb)(problem)
    told = printed(verb, "-f", "-", "--explain", given=problem)
    assert list(answer.explanation) == told.pop("explanation")
    assert answer.to_dict() == told
    shared = [name for name in told if hasattr(answer, name)]
    assert {"unplaced", "reason", "trace"} < set(shared)
    assert {name: getattr(answer, name) for name in shared} == {name: told[name] for name in shared}


def test_table_of_a_verb_is_that_of_its_command() -> None:
    """`print(answer)` and the terminal show one picture."""
    problem = json.loads((EXAMPLES / "queues/fairshare.json").read_text())
    result = CliRunner().invoke(
        cli, ["share", "-f", "-", "-o", "table"], input=json.dumps(problem), standalone_mode=False
    )
    want = [line.rstrip() for line in result.stdout.splitlines()]
    assert str(fairlead.share(problem)).splitlines() == want
    assert repr(fairlead.share(problem)).splitlines() == want


def test_split_answers_what_its_command_prints() -> None:
    """The state may be a file, a mapping or a list of mappings."""
    review = json.loads((EXAMPLES / "tiers/review.json").read_text())
    state = EXAMPLES / "tiers/cluster.yaml"
    objects = list(yaml.safe_load_all(state.read_text()))
    want = printed("split", "-f", "-", "--state", str(state), given=review)
    for each in (state, str(state), objects, {"apiVersion": "v1", "kind": "List", "items": objects}):
        answer = fairlead.split(review, state=each)
        assert answer.to_dict() == want
    assert answer.allowed
    assert [each["op"] for each in answer.patch] == ["add"] * 4
    assert answer.explanation[0].startswith("The replica must run on an on-demand node")


@pytest.mark.parametrize("folder", ["shop", "gpu-queue/cluster", "spot-wave/cluster", "storage/longhorn.yaml"])
def test_plan_is_one_answer_everywhere(folder: str) -> None:
    """Function, command and page have the same record of the same manifests."""
    source = EXAMPLES / folder
    answer = fairlead.plan(source)
    found, view = viewed([str(source)])
    shown = VIEWS["plan"](Look(title="", found=found, view=view, decided=plan(view)))
    want = printed("plan", "-f", str(source))
    assert answer.to_dict() == want
    assert {key: value for key, value in json.loads(json.dumps(shown)).items() if key != "planned"} == want


def test_plan_has_its_parts_as_attributes() -> None:
    """Numbers of the record without the record."""
    answer = fairlead.plan(EXAMPLES / "shop")
    record = answer.to_dict()
    assert (answer.unplaced, answer.fleet, answer.sites) == (6, record["fleet"], record["sites"])
    assert answer.storage == record["storage"]
    assert [(each["cluster"], each["workload"], each["unplaced"]) for each in answer.waiting] == [
        ("west", "analytics/report", 4),
        ("west", "ml/train", 2),
    ]
    assert len(answer.workloads) == sum(len(site["workloads"]) for site in record["sites"])


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        (["--drain", "west-od-1"], {"drain": "west-od-1"}),
        (["--drain", "node/west-od-1", "--drain", "west-od-2"], {"drain": ["west-od-1", "west-od-2"]}),
        (["--lose", "tier=spot", "--scale", "shop/web=40"], {"lose": "tier=spot", "scale": {"shop/web": 40}}),
        (["--add-nodes", "2", "--like", "west-spot-1"], {"add_nodes": 2, "like": "west-spot-1"}),
        (["--weight", "ml=9"], {"weight": {"ml": 9}}),
    ],
)
def test_what_if_is_that_of_the_command(options: list[str], asked: dict[str, Any]) -> None:
    """Each option of the command has its parameter."""
    answer = fairlead.what_if(fairlead.read(EXAMPLES / "shop"), **asked)
    want = printed("plan", "-f", str(EXAMPLES / "shop"), *options)
    assert answer.to_dict() == want
    assert (answer.moves, answer.unplaced, answer.workloads) == (want["moves"], want["unplaced"], want["workloads"])
    assert (answer.sites, answer.plan) == (want["sites"], want["plan"])


@pytest.mark.parametrize(
    ("words", "why_not"), [("shop/web", ""), ("no/west-od-1", ""), ("volumes", ""), ("deploy/web", "north-od-1")]
)
def test_explanation_is_that_of_the_command(words: str, why_not: str) -> None:
    """The same sentences, in kubectl's words too."""
    answer = fairlead.explain(fairlead.plan(EXAMPLES / "shop"), words, why_not=why_not)
    options = ["--why-not", why_not] if why_not else []
    want = printed("explain", "-f", str(EXAMPLES / "shop"), words, *options)
    assert answer.to_list() == want
    assert (len(answer), answer[0], str(answer)) == (len(want), want[0], "\n".join(want))


def test_simulation_is_that_of_the_command() -> None:
    """Policies by name, file and mapping; seed and end as options."""
    folder = EXAMPLES / "spot-wave"
    scenario, policy = folder / "scenario.yaml", folder / "no-tiers.yaml"
    answer = fairlead.simulate(scenario, policies=["communism", policy], seed=3, until="1h")
    options = ["--policy", "communism", "--policy", str(policy), "--seed", "3", "--until", "1h"]
    want = printed("simulate", str(scenario), *options)
    assert answer.to_dict() == want
    assert list(answer.policies) == [each["policy"] for each in want["policies"]]
    assert answer.events == want["events"]
    written = yaml.safe_load(policy.read_text())
    assert fairlead.simulate(scenario, policies=written, seed=3, until="1h").to_dict()["policies"][0] | {
        "policy": ""
    } == want["policies"][1] | {"policy": ""}
