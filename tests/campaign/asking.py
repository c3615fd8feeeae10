"""The options of the command line and the Python interface, asked with values that nobody meant to write."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import yaml

import fairlead
from tests.campaign.mangling import EDGES, mangled
from tests.campaign.targets import MANIFESTS, PROBLEMS, ROOT, DefectError, called

TEXTS = (
    *(
        "",
        " ",
        "=",
        "a=",
        "=1",
        "a=b=c",
        "/",
        "//",
        "a/b/c",
        "-",
        "--",
        "-1",
        "0",
        "1.5",
        "1e9",
        "9" * 400,
        "٢",
        "x" * 5000,
    ),
    *(
        "💥\u202e",
        "\udcff",
        "%s",
        "{}",
        "a\nb",
        "in (",
        "a in ()",
        "a notin (b",
        "!",
        "!!a",
        "a,,b",
        ",",
        "*",
        "..",
        "~",
    ),
)
"""Values of options; the one with a surrogate is how the shell's bytes arrive that are no UTF-8."""
CLUSTER = [each for each in MANIFESTS if each["kind"] in ("Node", "Deployment", "Job", "Queue", "PodGroup")][:14]
CLUSTER_TEXT = json.dumps({"kind": "List", "apiVersion": "v1", "items": CLUSTER}).encode()
NODES = [each["metadata"]["name"] for each in CLUSTER if each["kind"] == "Node"] or ["none"]
WORKLOADS = ["shop/web", "deploy/web", "web", "ml/train", "node/" + NODES[0], "volumes", "pod/shop/web-1", "volume/x"]
PATHS = (
    "{.unplaced}",
    "{.sites[*].workloads[?(@.unplaced > 0)].workload}",
    "{range .sites[0].workloads[*]}{.workload}{'\\t'}{.parts[-1:]}{\"\\n\"}{end}",
    "{['sites'][0]['workloads'][?(@.workload == \"shop/web\")]}",
    "{$}{@.*}",
)
"""Templates of jsonpath that are meant."""
PIECES = (
    *("{", "}", "[", "]", "(", ")", "?(@", "@", "$", ".", "..", "*", ":", "-", "'", '"', "\\", " ", "==", "<", "!="),
    *("range ", "end", ".sites", ".workloads", ".parts", "[0]", "[*]", "[?(@.unplaced >= 0)]", "[1:]", "{end}", "null"),
    *("{range .sites[*]}" * 1200, ".sites" * 1200, "[" * 5000, "[" + "9" * 5000 + "]", "1e999", "\udcff", "💥", "\n"),
)
"""Of what other templates are made; some are far longer than anybody writes."""
OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "plan": {
        "-n": ("shop", "ml", "nowhere"),
        "-A": (),
        "-l": ("app=web", "!old", "app in (a, b),tier!=x"),
        "--strict": (),
        "--keep-going": (),
        "--waiting": (),
        "--upgrade": (),
        "--scale-hpa": ("min", "max"),
        "--drain": tuple(NODES),
        "--lose": ("tier=spot", "topology.kubernetes.io/zone=a", "zone=b"),
        "--add-nodes": ("1", "3"),
        "--like": tuple(NODES),
        "--scale": ("shop/web=9", "web=0"),
        "--weight": ("shop=3", "ml=1"),
        "--rows": ("0", "1", "50"),
        "-w": (),
        "-o": ("table", "json", "yaml", "manifests", "name", "wide"),
    },
    "explain": {
        "-n": ("shop", "ml"),
        "-A": (),
        "-w": (),
        "--why-not": (*NODES, "north", "a/b"),
        "-o": ("table", "json", "yaml"),
    },
    "place": {
        "--workload": ("shop/web", "web"),
        "--cpu": ("1", "500m"),
        "--memory": ("1Gi",),
        "--count": ("3", "0"),
        "--strategy": ("auto", "fill", "average", "global", "drained"),
        "--nodes-limit": ("1", "0"),
        "--partial": (),
        "--keep-going": (),
        "--explain": (),
        "-o": ("table", "json", "yaml"),
    },
    "share": {"--preempt": (), "--reserve-after": ("0", "60"), "--explain": (), "-o": ("table", "json", "yaml")},
    "divide": {"--keep-going": (), "--explain": (), "-o": ("table", "json", "yaml")},
}
"""The options of each command, with values that are meant; none for a switch."""


def flags(chance: Random) -> dict[str, int]:
    """One command over a small cluster with a few of its options, most of their values as they should be."""
    command = chance.choice(("plan", "plan", "plan", *OPTIONS))
    known = OPTIONS[command]
    words = [command, "-f", "-", *([_word(chance, WORKLOADS)] if command == "explain" else [])]
    for name in chance.choices(list(known), k=chance.randrange(1, 5)):
        words += [name, _word(chance, known[name])] if known[name] else [name]
    if chance.random() < 0.3:
        words += ["-o", _template(chance)]
    return {f"exit {called(words, CLUSTER_TEXT)}": 1}


def _template(chance: Random) -> str:
    """A template as it is meant, or with pieces put in, or of pieces alone."""
    made = chance.choice((*PATHS, ""))
    for _ in range(chance.choice((0, 0, 1, 3, 9))):
        at = chance.randrange(len(made) + 1)
        made = made[:at] + chance.choice(PIECES) + made[at:]
    return f"jsonpath={made}"


def _word(chance: Random, meant: tuple[str, ...] | list[str]) -> str:
    if chance.random() < 0.75:
        return chance.choice(meant)
    word = chance.choice((*TEXTS, chance.choice(meant) + chance.choice(TEXTS)))
    return word if word != "-" else "x-"  # which would read what is typed again


# --- import fairlead --------------------------------------------------------------------------------------------------

SCENARIO = yaml.safe_load((ROOT / "examples/spot-wave/scenario.yaml").read_text()) | {"until": "10m"}
POLICIES = ("communism", "bin-pack", "first-fit")
REVIEW = PROBLEMS["split"][0]


def api(chance: Random) -> dict[str, int]:
    """One function of the Python interface, and everything that can be asked of its answer."""
    call = chance.choice(CALLS)
    try:
        _looked_at(call(chance))
    except fairlead.InputError as error:
        if not str(error).strip():
            raise DefectError(f"{call.__name__}: refused without a word") from error
        return {"refused": 1}
    except Exception as error:
        raise DefectError(f"{call.__name__}: {type(error).__name__}: {error}") from error
    return {"read": 1}


def _looked_at(answer: Any) -> None:
    """Every property, text and picture of an answer can be had."""
    for name in dir(type(answer)):
        if isinstance(getattr(type(answer), name), property):
            getattr(answer, name)
    repr(answer)
    str(answer)
    for name in ("_repr_html_", "to_dict", "to_list"):
        if hasattr(answer, name):
            getattr(answer, name)()


def _divide(chance: Random) -> Any:
    return fairlead.divide(_problem(chance, "divide"))


def _share(chance: Random) -> Any:
    return fairlead.share(_problem(chance, "share"))


def _place(chance: Random) -> Any:
    return fairlead.place(_problem(chance, "place"))


def _balance(chance: Random) -> Any:
    return fairlead.balance(_problem(chance, "balance"))


def _split(chance: Random) -> Any:
    state = chance.choice((None, None, mangled({"pods": []}, chance), _text(chance)))
    return fairlead.split(mangled(REVIEW, chance), state=state, config=_config(chance))


def _problem(chance: Random, verb: str) -> Any:
    return mangled(chance.choice(PROBLEMS[verb]), chance)


def _read(chance: Random) -> Any:
    return fairlead.read(*_sources(chance), config=_config(chance), strict=chance.random() < 0.2)


def _plan(chance: Random) -> Any:
    return fairlead.plan(chance.choice(_sources(chance)))


def _explain(chance: Random) -> Any:
    return fairlead.explain(_small(chance), _word(chance, WORKLOADS), why_not=chance.choice(("", _word(chance, NODES))))


def _what_if(chance: Random) -> Any:
    asked: dict[str, Callable[[], Any]] = {
        "drain": lambda: chance.choice((_word(chance, NODES), [_word(chance, NODES)])),
        "lose": lambda: _word(chance, ("tier=spot", "zone=a")),
        "add_nodes": lambda: chance.choice((1, 3, 0, -1, 2**31, 2**63, 10**30)),
        "like": lambda: _word(chance, NODES),
        "scale": lambda: {_word(chance, WORKLOADS): _number(chance)},
        "scale_hpa": lambda: _word(chance, ("min", "max")),
        "weight": lambda: {_word(chance, ("shop", "ml")): _number(chance)},
    }
    named = chance.sample(list(asked), chance.randrange(1, 4))
    return fairlead.what_if(_small(chance), **{name: asked[name]() for name in named})


def _simulate(chance: Random) -> Any:
    policy = mangled({"name": "p", "strategy": "fill"}, chance)
    return fairlead.simulate(
        mangled(SCENARIO, chance, 0.02),
        policies=chance.choice(((), POLICIES[:2], _word(chance, POLICIES), [policy])),
        trace="" if chance.random() < 0.9 else _text(chance),
        seed=chance.choice((None, 0, -1, 2**64, 10**30)),
        until=chance.choice(("", "5m", _text(chance))),
    )


CALLS = (_divide, _share, _place, _balance, _split, _read, _plan, _explain, _what_if, _simulate)


def _text(chance: Random) -> str:
    """What may stand for a path; none of a large directory."""
    texts = (*TEXTS, *(each for each in EDGES if isinstance(each, str)), os.devnull, str(Path(__file__)))
    return chance.choice([each for each in texts if not Path(each[:99].replace("\0", "x")).is_dir()])


def _number(chance: Random) -> Any:
    return chance.choice((0, 1, 9, -1, 2**31, 2**63, 10**30, 1.5, True, None, "x"))


def _config(chance: Random) -> Any:
    if chance.random() < 0.7:
        return None
    return chance.choice((mangled(PROBLEMS["config check"][0], chance), _text(chance)))


def _small(chance: Random) -> Any:
    """A snapshot of a few objects, now and then mangled."""
    return fairlead.read(CLUSTER if chance.random() < 0.5 else mangled(CLUSTER, chance, 0.01) or CLUSTER)


def _sources(chance: Random) -> list[Any]:
    """Objects, texts, paths, and what is none of them."""
    made: list[Callable[[], Any]] = [
        lambda: [mangled(each, chance, 0.02) for each in chance.sample(MANIFESTS, 4)],
        lambda: mangled(chance.choice(MANIFESTS), chance),
        lambda: yaml.safe_dump(mangled(chance.choice(MANIFESTS), chance), allow_unicode=True) + "\n",
        lambda: json.dumps(mangled(chance.choice(MANIFESTS), chance)).encode(),
        lambda: _text(chance),
        lambda: chance.choice(EDGES),
    ]
    return [chance.choice(made)() for _ in range(chance.randrange(1, 4))]
