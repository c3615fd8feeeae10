"""Turns of the queue level on a cluster in memory: shares, gangs, promises, evictions, words for those who wait."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from fairlead.kube.resources import POD_GROUPS, QUEUES
from fairlead.levels.queue.share import SharePolicy
from fairlead.live.cluster.records import PodRecord
from fairlead.live.cluster.turn_types import Promise, TurnTerms
from fairlead.live.queue.contested_turn import take_turn
from fairlead.live.queue.gangs import gathers
from fairlead.live.queue.intents import promised, written
from fairlead.live.queue.node_fits import TurnSite, node_fits
from fairlead.live.scheduler.messages import message
from fairlead.model.errors import InputError
from tests.live.queue_world import NOW, World


def table(world: World, rows: list[tuple[str, str, int]]) -> None:
    """Jobs of one-cpu pods: queue, namespace, how many."""
    for number, (queue, namespace, count) in enumerate(rows):
        world.group(f"job{number}", 1, queue=queue, namespace=namespace)
        world.pods(count, f"job{number}", group=f"job{number}", namespace=namespace)


def test_the_second_table_of_the_proposal() -> None:
    """Queues 1:3, namespaces by the weights of their quotas."""
    world = World(8, 8)
    world.queue("q1", weight=1)
    world.queue("q2", weight=3)
    for namespace, weight in (("ns1", "3"), ("ns2", "1"), ("ns3", "2"), ("ns4", "6")):
        world.weigh(namespace, weight)
    table(world, [("q1", "ns1", 5), ("q1", "ns2", 10), ("q2", "ns3", 10), ("q2", "ns4", 2)])
    world.turn()
    assert world.held() == {
        "PodGroup/ns1/job0": 3,
        "PodGroup/ns2/job1": 1,
        "PodGroup/ns3/job2": 10,
        "PodGroup/ns4/job3": 2,
    }


def test_a_gang_that_does_not_fit_nodes_starts_nothing_and_every_member_is_told() -> None:
    """Six cpu in sum, but two nodes take one pod of two cpu each; a gang of three needs three."""
    world = World(3, 3)
    world.group("g", 3)
    world.pods(3, "a", group="g", cpu="2")
    _, outcomes = world.turn()
    assert world.held() == {}
    (outcome,) = outcomes
    assert len(outcome.waiting) == 3
    assert outcome.finding is not None
    assert outcome.finding.code == "NodesFull"
    world.node("n3", 3)
    world.turn()
    assert world.held() == {"PodGroup/ns/g": 3}


def test_minimums_by_task_and_minimum_resources_are_kept() -> None:
    """Two workers and a master start together; room for the workers alone starts nobody."""
    world = World(4)
    world.group("g", 3, minTaskMember={"master": 1, "worker": 2})
    world.pods(4, "w", group="g", task="worker")
    world.turn()
    assert world.held() == {}
    world.pod("m", group="g", task="master", cpu="2")
    world.turn()
    assert world.held() == {"PodGroup/ns/g": 3}
    world.group("h", 1, minResources={"cpu": "9"})
    world.pod("h", group="h", cpu="10m")
    _, outcomes = world.turn()
    told = {outcome.group.controller: message(outcome) for outcome in outcomes if outcome.waiting}
    assert "GangAboveWhole: " in told["PodGroup/ns/h"]


def test_what_waits_says_its_stage_with_numbers() -> None:
    """The queue's bound, the missing queue, the missing group, too few members, the nodes: each in its words."""
    world = World(4)
    world.queue("small", capability={"cpu": "1"})
    world.group("bound", 1, queue="small")
    world.group("lost", 1, queue="nowhere")
    world.group("few", 5)
    for name in ("bound", "lost", "astray", "few"):
        world.pods(2, name, group=name)
    world.pod("big", cpu="9")
    _, outcomes = world.turn()
    told = {outcome.group.pods[0].metadata.name: message(outcome) for outcome in outcomes if outcome.waiting}
    assert told["bound-0"] == (
        "QueueCapability: 1 replica needs 1 cpu; queue small may hold 1 and has 0 left; "
        "replicas that end or move would help"
    )
    assert told["lost-0"].startswith("UnknownQueue: queue nowhere does not exist; a change of the queue")
    assert told["astray-0"].startswith("UnknownGroup: PodGroup ns/astray does not exist")
    assert told["few-0"].startswith("GangAboveReplicas: job PodGroup/ns/few starts with at least 5 replicas and has 2")
    assert "GangAboveWhole" in told["big"]
    assert "1 InsufficientRoom (n1); more room would help" in told["big"]


def test_a_deleted_queue_leaves_what_runs_and_stops_what_waits() -> None:
    """Its pods keep their room; a group edited to another queue goes on there."""
    world = World(4)
    world.queue("q")
    world.group("g", 1, queue="q")
    world.pods(2, "a", group="g")
    world.turn()
    world.drop(QUEUES, "q")
    world.pod("a-9", group="g")
    _, outcomes = world.turn()
    assert world.held() == {"PodGroup/ns/g": 2}
    assert [message(outcome)[:12] for outcome in outcomes] == ["UnknownQueue"]
    world.group("g", 1)
    world.turn()
    assert world.held() == {"PodGroup/ns/g": 3}


def test_a_deleted_group_leaves_what_runs() -> None:
    """Its pods hold their room as before; those that wait do so until it is back."""
    world = World(4)
    world.group("g", 2)
    world.pods(2, "a", group="g")
    world.turn()
    world.drop(POD_GROUPS, "g", "ns")
    world.pod("a-9", group="g")
    turn, _ = world.turn()
    assert world.held() == {"PodGroup/ns/g": 2}
    assert turn.sharing.queues[0].allocated["cpu"] == 2000


def test_native_groups_are_gangs_too() -> None:
    """Kubernetes' own PodGroup: all or nothing, in the default queue."""
    world = World(2)
    world.native("g", 3)
    world.pods(3, "a", native="g")
    world.turn()
    assert world.held() == {}
    world.node("n2", 1)
    world.turn()
    assert world.held() == {"NativePodGroup/ns/g": 3}


def test_who_sleeps_gets_nothing_but_counts() -> None:
    """A job that nothing has happened for is not asked of the nodes; its demand still counts for its queue."""
    world = World(4)
    world.queue("q1")
    world.queue("q2")
    world.group("a", 1, queue="q1")
    world.group("b", 1, queue="q2")
    world.pods(4, "a", group="a")
    world.pods(4, "b", group="b")
    turn, outcomes = world.turn(awake={"PodGroup/ns/a"})
    assert world.held() == {"PodGroup/ns/a": 4}
    assert {row.name: row.deserved["cpu"] for row in turn.sharing.queues if row.name != "default"} == {
        "q1": 2000,
        "q2": 2000,
    }
    assert {outcome.group.pods[0].queue_fields.group for outcome in outcomes} == {"a"}


def test_constraints_of_the_node_level_hold_inside_a_gang() -> None:
    """Members that may not share a node need as many nodes."""
    world = World(8, 8)
    world.group("g", 3)
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "g"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
    world.pods(3, "a", group="g", affinity=apart)
    _, outcomes = world.turn()
    assert world.held() == {}
    assert outcomes[0].finding is not None
    assert "NodesFull" in outcomes[0].finding.code


def intended(*places: tuple[PodRecord, str]) -> str:
    """The text of an intent, from a machine whose clock is wrong."""
    return written({pod.key: node for pod, node in places}, 1e12)


def test_an_intent_is_rolled_forward_to_the_same_nodes() -> None:
    """Two of four were bound before a crash; the others go where they were meant to, whoever else waits."""
    world = World(2, 2)
    members = [world.pod(f"a-{number}", group="g") for number in range(4)]
    places = [(members[0], "n1"), (members[1], "n1"), (members[2], "n2"), (members[3], "n2")]
    world.group("g", 4, intent=intended(*places))
    world.group("rival", 2, priorityClassName="high")
    world.priority_class("high", 100)
    world.pods(2, "r", group="rival")
    world.pod("a-0", group="g", on="n1")
    world.pod("a-1", group="g", on="n1")
    turn, _ = world.turn()
    assert [(grant.job.key, sorted((p.metadata.name, n) for p, n in grant.places)) for grant in turn.grants] == [
        ("PodGroup/ns/g", [("a-2", "n2"), ("a-3", "n2")])
    ]


def test_an_intent_whose_node_is_taken_is_decided_anew() -> None:
    """One place is gone: the pod goes elsewhere, the other stays with the intent."""
    world = World(2, 2, 2)
    members = [world.pod(f"a-{number}", group="g") for number in range(3)]
    world.group("g", 3, intent=intended((members[0], "n1"), (members[1], "n2"), (members[2], "gone")))
    world.pod("stranger", on="n2", cpu="2", schedulerName="other")
    turn, _ = world.turn()
    (grant,) = turn.grants
    places = {pod.metadata.name: node for pod, node in grant.places}
    assert places["a-0"] == "n1"
    assert set(places) == {"a-0", "a-1", "a-2"}
    assert "n2" not in places.values()


@pytest.mark.parametrize("evicting", [False, True])
def test_an_intent_of_which_nothing_is_bound_and_that_does_not_fit_ends(evicting: bool) -> None:
    """A stranger took one of three places: nothing starts; where he may be evicted, all three are promised anew."""
    world = World(3, policy=SharePolicy(preempt=evicting))
    world.pod("stranger", on="n1", owner="s")
    members = [world.pod(f"a-{number}", group="g", priority=10) for number in range(3)]
    world.group("g", 3, intent=intended(*((pod, "n1") for pod in members)))
    turn, _ = world.turn()
    assert (turn.grants, turn.void) == ((), ("PodGroup/ns/g",))
    assert [sorted(promise.places) for promise in turn.promises] == ([[pod.key for pod in members]] if evicting else [])


def test_a_gang_past_its_deadline_releases_what_somebody_will_create_anew() -> None:
    """Controller-owned members go, bare ones stay; the others are not started meanwhile."""
    world = World(2, deadline=60.0)
    owned = world.pod("a-0", group="g", owner="rs")
    bare = world.pod("a-1", group="g")
    world.pod("a-2", group="g", cpu="2")
    world.group("g", 3, intent=intended((owned, "n1"), (bare, "n1")))
    world.clock += 61
    world.pod("a-0", group="g", owner="rs", on="n1")
    world.pod("a-1", group="g", on="n1")
    assert world.promises.overdue(world.clock)
    turn, _ = world.turn()
    assert [(each.pod.metadata.name, each.action, each.beneficiary) for each in turn.evictions] == [
        ("a-0", "release", "")
    ]
    assert [job.key for job in turn.released] == ["PodGroup/ns/g"]
    early = World(2, deadline=62.0)
    early.group("g", 3, intent=intended((owned, "n1")))
    assert not early.promises.overdue(early.clock + 61)


def test_a_gang_of_which_nobody_waits_is_not_released() -> None:
    """Its third pod is gone for good: the two that run are left alone."""
    world = World(4, deadline=60.0)
    first, second = (world.pod(f"a-{number}", group="g", owner="rs") for number in range(2))
    world.group("g", 3, intent=intended((first, "n1"), (second, "n1")))
    world.clock += 61
    for number in range(2):
        world.pod(f"a-{number}", group="g", owner="rs", on="n1")
    world.pod("other")
    turn, _ = world.turn()
    assert (turn.evictions, turn.released) == ((), ())


def test_a_promise_keeps_its_places_until_all_fit() -> None:
    """Room that somebody has to leave first is kept: nobody else gets it, and the job is not asked again."""
    world = World(2)
    low = world.pods(2, "low", on="n1", owner="low")
    mine = world.pods(2, "high", group="g", priority=10)
    world.group("g", 2)
    world.promises.promise(Promise(job="PodGroup/ns/g", places={pod.key: "n1" for pod in mine}, at=NOW))
    assert not world.promises.calm(mine, parked=False)
    world.gone(low[0])
    world.pod("late")
    turn, outcomes = world.turn()
    assert turn.grants == ()
    assert {message(outcome).split(":")[0] for outcome in outcomes if outcome.group.controller != "Pod/ns/late"} == {
        "NextCycle"
    }
    world.gone(low[1])
    world.turn()
    assert world.held() == {"PodGroup/ns/g": 2}
    world.promises.withdraw("PodGroup/ns/g")
    assert world.promises.by_job == {}


def test_preemption_names_pods_and_promises_their_places() -> None:
    """A gang of higher priority takes two of four; they are named, youngest first, and its pods are not bound yet."""
    world = World(4, policy=SharePolicy(preempt=True))
    for number in range(4):
        world.pod(f"low-{number}", owner="low", on="n1", created=f"1970-01-12T13:00:0{number}Z")
    world.group("g", 2)
    world.pods(2, "high", group="g", priority=10)
    turn, _ = world.turn()
    assert turn.grants == ()
    assert [(each.pod.metadata.name, each.action, each.beneficiary) for each in turn.evictions] == [
        ("low-3", "preempt", "PodGroup/ns/g"),
        ("low-2", "preempt", "PodGroup/ns/g"),
    ]
    (promise,) = turn.promises
    assert promise.places == {("ns", "high-0"): "n1", ("ns", "high-1"): "n1"}
    assert not promise.begun


def test_room_that_an_eviction_leaves_over_is_not_bound_before_it_is_free() -> None:
    """A gang of three goes as a whole for one of two; who gets the third place has to wait for it too."""
    world = World(4, policy=SharePolicy(preempt=True))
    world.pod("other", on="n1", owner="other")
    world.group("low", 3)
    low = world.pods(3, "low", group="low", on="n1", owner="low")
    world.group("first", 2)
    world.pods(2, "first", group="first", priority=10)
    world.group("second", 1)
    world.pods(1, "second", group="second", priority=5)
    turn, _ = world.turn()
    assert turn.grants == ()
    assert {wanted.beneficiary for wanted in turn.evictions} == {"PodGroup/ns/first"}
    assert len(turn.evictions) == 3
    assert {promise.job: set(promise.places.values()) for promise in turn.promises} == {
        "PodGroup/ns/first": {"n1"},
        "PodGroup/ns/second": {"n1"},
    }
    for promise in turn.promises:
        world.promises.promise(promise)
        assert world.promises.waits(promise)
    for pod in low:
        world.gone(pod)
    world.turn()
    assert world.held() == {"ReplicaSet/ns/other": 1, "PodGroup/ns/first": 2, "PodGroup/ns/second": 1}
    assert not any(map(world.promises.waits, turn.promises))


def test_what_is_above_a_gang_waits_until_the_gang_has_started() -> None:
    """Room for one is free while room for the gang of two is being made: its third pod does not get it yet."""
    world = World(2, 1)
    low = world.pods(2, "low", on="n1", owner="low")
    mine = world.pods(3, "high", group="g", priority=10)
    world.group("g", 2)
    world.promises.promise(Promise(job="PodGroup/ns/g", places={pod.key: "n1" for pod in mine[:2]}, at=NOW))
    turn, _ = world.turn()
    assert turn.grants == ()
    for pod in low:
        world.gone(pod)
    world.turn()
    assert world.held() == {"PodGroup/ns/g": 3}


def test_a_gang_that_is_being_evicted_gets_nobody_new() -> None:
    """One of three has gone and was created anew, two are about to go: the new one waits until all three have gone."""
    world = World(6)
    world.group("g", 3)
    members = world.pods(3, "old", group="g", on="n1", owner="g")
    world.terms = TurnTerms(yielding={pod.key for pod in members})
    world.gone(members[0])
    world.pods(1, "new", group="g", owner="g")
    turn, _ = world.turn()
    assert turn.grants == ()
    for pod in members[1:]:
        world.gone(pod)
    world.pods(2, "newer", group="g", owner="g")
    world.turn()
    assert world.held() == {"PodGroup/ns/g": 3}


@pytest.mark.parametrize("guard", ["budget", "barred", "spared", "mark"])
def test_nobody_is_evicted_against_a_rule(guard: str) -> None:
    """A disruption budget, a job that may not evict, pods that are spared, pods that say no."""
    world = World(1, policy=SharePolicy(preempt=True))
    low = world.pod("low", owner="low", on="n1")
    if guard == "budget":
        world.budget("low", 0)
    elif guard == "barred":
        world.terms = replace(world.terms, barred={"PodGroup/ns/g"})
    elif guard == "spared":
        world.terms = replace(world.terms, spared={low.metadata.uid})
    else:
        world.gone(low)
        world.pod("kept", owner="low", on="n1", namespace="kube-system")
    world.group("g", 1)
    world.pod("high", group="g", priority=10)
    turn, _ = world.turn()
    assert turn.evictions == ()
    assert turn.promises == ()


def test_a_look_grants_nothing() -> None:
    """For status and metrics: who would deserve what."""
    world = World(4)
    world.group("g", 2)
    world.pods(3, "a", group="g")
    turn = world.promises.look(world.cache.view().nodes, NOW)
    assert (turn.grants, turn.sharing.jobs[0].admitted) == ((), 3)
    assert world.held() == {}


@pytest.mark.parametrize(
    ("names", "nodes"),
    [(["train-0", "train-1", "train-10"], ["n2", "n1", "n2"]), (["x"], ["n1"]), (["a", "b"], ["n", "n"])],
)
def test_intents_are_read_as_written(names: list[str], nodes: list[str]) -> None:
    """Names lose their common beginning and get it back."""
    world = World(1)
    places = [(world.pod(name), node) for name, node in zip(names, nodes, strict=True)]
    promise = promised("job", "ns", intended(*places), 12.5)
    assert promise.places == {("ns", name): node for name, node in zip(names, nodes, strict=True)}
    assert (promise.at, promise.begun) == (12.5, True)
    with pytest.raises(InputError, match="cannot be read"):
        promised("job", "ns", "{broken", 12.5)


@pytest.mark.parametrize(
    ("case", "want"),
    [
        ("plain", True),
        ("whole gang", True),
        ("part of a gang", False),
        ("too few", False),
        ("a task short", False),
        ("a task of which one runs", True),
        ("minimum resources", True),
        ("more minimum resources", False),
        ("no group", False),
        ("unknown queue", False),
        ("bounded queue", False),
        ("reserved", False),
        ("reservation and others wait", False),
    ],
)
def test_when_everybody_may_simply_be_placed(case: str, want: bool) -> None:
    """Only where no bound, promise or incomplete gang speaks against it."""
    world = World(8)
    spec = {
        "a task short": {"minTaskMember": {"x": 1}},
        "a task of which one runs": {"minTaskMember": {"x": 3}},
        "minimum resources": {"minResources": {"cpu": "2", "count/pods": "2"}},
        "more minimum resources": {"minResources": {"cpu": "3"}},
    }
    if case not in ("plain", "no group"):
        world.group("g", 3 if case in ("too few", "a task of which one runs") else 2, **spec.get(case, {}))
    due = world.pods(2, "a", group="" if case == "plain" else "g", owner="web", task="x" if "runs" in case else "")
    if case == "a task of which one runs":
        world.pod("b", group="g", owner="web", task="x", on="n1")
    elif case == "part of a gang":
        due = due[:1]
    elif case == "unknown queue":
        due.append(world.pod("b", queue="nowhere"))
    elif case == "bounded queue":
        world.queue("q", capability={"cpu": "1"})
    elif case == "reserved":
        world.promises.reserved = "PodGroup/ns/other"
    elif case == "reservation and others wait":
        world.terms = TurnTerms(policy=SharePolicy(reserve_after=10))
    assert world.promises.calm(due, parked=True) is want


def test_a_what_if_leaves_the_reservation_as_it_is() -> None:
    """Only the turn that is acted on says what room is kept for; a what-if asks on terms of its own."""
    world = World(4, policy=SharePolicy(reserve_after=10))
    world.pod("old", cpu="2", on="n1", owner="web")
    world.group("g", 3)
    world.pods(3, "a", group="g")
    site = TurnSite(view=world.cache.view(), present=world.cache.present)
    terms = TurnTerms(policy=SharePolicy(reserve_after=0, preempt=True))
    assert take_turn(world.promises, site, None, NOW + 60, terms)[0].reserved == "PodGroup/ns/g"
    assert world.promises.reserved == ""
    world.turn(now=NOW + 60)
    assert world.promises.reserved == "PodGroup/ns/g"
    assert take_turn(world.promises, site, None, NOW + 60, TurnTerms())[0].reserved == ""
    assert world.promises.reserved == "PodGroup/ns/g"


HOST = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
NEVER_NEAR = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [HOST]}}


@pytest.mark.parametrize(
    ("spec", "ever"),
    [
        ({"cpu": "4"}, True),
        ({"cpu": "5"}, False),
        ({"nodeSelector": {"disk": "none"}}, False),
        ({"affinity": NEVER_NEAR}, True),
        ({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}]}, False),
    ],
    ids=["a full node", "larger than a node", "no such node", "others are in the way", "a claim that is not there"],
)
def test_whom_no_eviction_helps(spec: dict[str, Any], ever: bool) -> None:
    """What a node would refuse even if it were empty needs no search for victims."""
    world = World(4)
    world.pods(4, "there", on="n1", owner="there")
    pod = world.pod("p", **spec)
    site = TurnSite(view=world.cache.view(), present=world.cache.present, demand=world.cache.storage.demand)
    fits = node_fits(site, [pod, None])
    assert fits.refusals(0)
    assert fits.ever(0) == ever
    assert not fits.ever(1)


def site_of(world: World) -> TurnSite:
    """What the node level needs of the world as it is."""
    return TurnSite(view=world.cache.view(), present=world.cache.present, demand=world.cache.storage.demand)


def test_replicas_taken_one_by_one_are_spread_as_if_taken_at_once() -> None:
    """Each place that is taken counts for the next one, and no longer once it is given back."""
    world = World(4, 4)
    fits = node_fits(site_of(world), [world.pod("p", owner="web")])
    first, second = (fits.take(0, 1) for _ in range(2))
    assert sorted([*first, *second]) == [0, 1]
    fits.give(0, first)
    assert fits.take(0, 1) == first


@pytest.mark.parametrize(
    ("named", "default", "want"),
    [
        ("", "communism", {0: 2, 1: 2}),
        ("", "global-greedy", {1: 4}),
        ("global-greedy", "communism", {1: 4}),
        ("communism", "global-greedy", {0: 2, 1: 2}),
    ],
)
def test_strategy_inside_a_gang_is_the_workloads_or_the_default(named: str, default: str, want: dict[int, int]) -> None:
    """Four pods on a small and a large node: replicas are levelled, or use is."""
    world = World(4, 16)
    pod = msgspec.structs.replace(world.pod("p", owner="web"), strategy=named)
    assert node_fits(replace(site_of(world), strategy=default), [pod]).take(0, 4) == want


def test_room_that_is_asked_for_and_not_taken_leaves_no_trace() -> None:
    """A question about room places replicas on trial; the next question and the next placement do not see them."""
    world = World(4, 4)
    fits = node_fits(site_of(world), [world.pod("p", owner="web")])
    assert fits.room({0: 5}) == fits.room({0: 5}) == {0: 5}
    assert fits.room({0: 9}) == {0: 8}
    assert fits.take(0, 4) == {0: 2, 1: 2}


@pytest.mark.parametrize(("seconds", "want"), [(0.0, True), (4.9, True), (5.0, False), (60.0, False)])
def test_members_of_a_gang_may_still_be_coming_for_five_seconds(seconds: float, want: bool) -> None:
    """Two of three are there: for a moment that is no news, after it they are told that one is missing."""
    world = World(9)
    world.group("g", 3)
    world.pods(2, "a", group="g")
    _, outcomes = world.turn()
    (outcome,) = outcomes
    assert gathers(outcome.finding, outcome.waiting, NOW + seconds) is want


def test_a_gang_that_only_lacks_room_is_not_waited_for() -> None:
    """All members are there; time brings no more of them."""
    world = World(2)
    world.group("g", 3)
    world.pods(3, "a", group="g")
    _, outcomes = world.turn()
    assert not any(gathers(outcome.finding, outcome.waiting, NOW) for outcome in outcomes)


def test_pods_of_a_node_that_is_not_known_yet_count_once_it_is() -> None:
    """Pods may be told of before their node, and a node may come back; one that ended meanwhile counts nowhere."""
    world = World()
    world.pod("stays", on="n9", cpu="2")
    gone = world.pod("goes", on="n9", cpu="1")
    world.gone(gone)
    world.node("n9", 4)
    nodes = world.cache.view().nodes
    column = nodes.column("cpu")
    assert column is not None
    assert int(nodes.used[nodes.rows["n9"], column]) == 2000


def test_a_pod_that_is_spared_stays_although_its_row_was_kept() -> None:
    """The first turn may evict it; once it is spared the next may not, and after that it may again."""
    world = World(1, policy=SharePolicy(preempt=True))
    low = world.pod("low", on="n1")
    world.pod("high", priority=5)
    victims = []
    for spared in (set(), {low.metadata.uid}, {"uid-other"}):
        world.terms = replace(world.terms, spared=spared)
        turn, _ = world.turn()
        victims.append([order.pod.key for order in turn.evictions])
    assert victims == [[low.key], [], [low.key]]


def test_two_that_lack_the_same_are_told_apart_by_what_they_hold() -> None:
    """Both lack one replica of three cpu; one of them would then hold more than there is."""
    world = World(4)
    world.queue("q")
    world.group("some", 3, queue="q")
    world.group("none", 1, queue="q")
    world.pods(2, "some", group="some", on="n1")
    world.pod("some-2", group="some", cpu="3")
    world.pod("none-0", group="none", cpu="3")
    turn, _ = world.turn()
    said = {row.name: row.finding.code for row in turn.sharing.jobs if row.finding is not None}
    assert said == {"PodGroup/ns/some": "GangAboveWhole", "PodGroup/ns/none": "QueueShare"}
