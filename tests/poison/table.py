"""The table: what may be created by whoever may create such objects, one row a poison, by what is wrong with it."""

from fairlead.kube.resources import (
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    DISRUPTION_BUDGETS,
    LONGHORN_NODES,
    LONGHORN_REPLICAS,
    LONGHORN_SETTINGS,
    LONGHORN_VOLUMES,
    PERSISTENT_VOLUMES,
    PRIORITY_CLASSES,
    RESOURCE_QUOTAS,
    VOLUME_ATTACHMENTS,
)
from tests.live import longhorn_objects as longhorn
from tests.poison.objects import (
    GROUP,
    QUEUE,
    Poison,
    Told,
    binding,
    claim,
    cluster,
    deep,
    driver,
    group,
    in_group,
    in_queue,
    ledger,
    node,
    pod,
    poison,
    queue,
    storage_class,
    user_of,
)

LARGEST = "largest amount"
HUGE = "9223372036854775807"
NESTED = "a binding nested two thousand levels deep"
"""The fake API server cannot store it; the real one can."""
UNICODE = "ünïcödé-💥-\u202e\u0000".replace("\u0000", "")

PODS: dict[str, Poison] = {
    "two containers whose sum passes int64": poison(
        pod("sum", {"memory": "5Ei"}, {"memory": "5Ei"}), told=("pod", "sum", LARGEST)
    ),
    "the same sum bound by hand": poison(
        node("full-1"),
        pod("held", {"memory": "5Ei"}, {"memory": "5Ei"}, nodeName="full-1", schedulerName="other"),
        told=("event", "held", "counts as full"),
    ),
    "two bound pods whose sum wraps": poison(
        node("full-2", labels={"only": "full-2"}),
        pod("wrap-1", {"memory": "5Ei"}, nodeName="full-2"),
        pod("wrap-2", {"memory": "5Ei"}, nodeName="full-2"),
        pod("wrapped", {"memory": "1Ti"}, nodeSelector={"only": "full-2"}),
        told=("pod", "wrapped", "InsufficientRoom"),
        more=(Told("event", "wrap-1", "counts as full"),),
    ),
    "more cores than there are atoms": poison(
        pod("cores", {"cpu": "9000000000000000"}, {"cpu": "9000000000000000"}), told=("pod", "cores", LARGEST)
    ),
    "memory beyond every integer": poison(pod("endless", {"memory": "1e30"}), told=("pod", "endless", LARGEST)),
    "devices by the trillion": poison(
        pod("devices", {"example.com/gpu": HUGE}, {"example.com/gpu": HUGE}), told=("pod", "devices", LARGEST)
    ),
    "huge pages that are huge": poison(
        pod("pages", {"hugepages-2Mi": "4Ei", "memory": "1Gi"}, {"hugepages-2Mi": "4Ei", "memory": "1Gi"}),
        told=("pod", "pages", LARGEST),
    ),
    "ephemeral storage beyond the bound": poison(
        pod("scratch", {"ephemeral-storage": "7Ei"}), told=("pod", "scratch", LARGEST)
    ),
    "an init container beyond the bound": poison(
        pod(
            "early",
            {"memory": "1Gi"},
            initContainers=[{"name": "i", "image": "x", "resources": {"requests": {"memory": "8Ei"}}}],
        ),
        told=("pod", "early", LARGEST),
    ),
    "at the bound, twenty times": poison(
        *(pod(f"edge-{number}", {"memory": "8Pi"}, nodeSelector={"pool": "ordinary"}) for number in range(20)),
        told=("pod", "edge-0", "InsufficientRoom"),
    ),
    "a strategy that is none": poison(
        pod("strategy", annotations={"fairlead.io/strategy": UNICODE}), told=("pod", "strategy", "is not a strategy")
    ),
    "bound cores, perhaps": poison(
        pod("perhaps", {"cpu": "1"}, annotations={"fairlead.io/bind-cpu": "perhaps"}),
        told=("pod", "perhaps", "expected true or false"),
    ),
    "bound cores by the billion": poison(
        pod("billion", {"cpu": "99999999"}, annotations={"fairlead.io/bind-cpu": "true"}),
        told=("pod", "billion", "too large to be bound"),
    ),
    "forged cores of a bound pod": poison(
        node("cored"),
        pod(
            "forged",
            {"cpu": "1"},
            annotations={"fairlead.io/bind-cpu": "true", "fairlead.io/cores": "0=99999999999999999999999,x=-1,,=="},
            nodeName="cored",
        ),
        told=("works", "forged", ""),
    ),
    "a cooldown longer than time": poison(
        node("cooled", labels={"only": "cooled"}),
        pod("long", {"memory": "1Ei"}, annotations={"volcano.sh/cooldown-time": "9" * 400 + "h"}, nodeName="cooled"),
        pod("beside-long", {"memory": "1Mi"}, nodeSelector={"only": "cooled"}),
        told=("pod", "beside-long", "InsufficientRoom"),
    ),
    "a hundred terms that match nothing": poison(
        pod(
            "terms",
            affinity={
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": f"k{n}", "operator": "Gt", "values": [str(10**18 + n)]}]}
                            for n in range(100)
                        ]
                    }
                }
            },
        ),
        told=("pod", "terms", "NodeNotSelected"),
    ),
    "a hundred wishes to be alone": poison(
        pod(
            "alone",
            affinity={
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"topologyKey": f"t{n}", "labelSelector": {"matchLabels": {"nobody": str(n)}}}
                        for n in range(100)
                    ]
                }
            },
        ),
        told=("works", "alone", ""),
    ),
    "a hundred hard spreads over absent keys": poison(
        pod(
            "spreads",
            topologySpreadConstraints=[
                {
                    "topologyKey": f"absent{n}",
                    "maxSkew": 2**31 - 1,
                    "minDomains": 2**31 - 1,
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"app": "spreads"}},
                }
                for n in range(100)
            ],
        ),
        told=("pod", "spreads", "TooUneven"),
    ),
    "a megabyte of environment": poison(
        pod(
            "megabyte",
            containers=[{"name": "c", "image": "x", "env": [{"name": "E", "value": "x" * 1_000_000}]}],
        ),
        told=("works", "megabyte", ""),
    ),
    "a quarter of a megabyte of annotations": poison(
        pod("notes", annotations={f"a{n}": "é" * 500 for n in range(200)}), told=("works", "notes", "")
    ),
    "a group that does not exist": poison(in_group("astray", "nowhere"), told=("pod", "astray", "UnknownGroup")),
    "a group with an impossible name": poison(
        in_group("odd-group", f"../../{UNICODE}/{'x' * 1000}"), told=("pod", "odd-group", "UnknownGroup")
    ),
    "a queue that does not exist": poison(
        in_queue("lost-queue", UNICODE + "/.."), told=("pod", "lost-queue", "UnknownQueue")
    ),
    "an owner of no kind there is": poison(
        pod(
            "own",
            owners=[
                {
                    "apiVersion": "nothing.example/v1",
                    "kind": f"No/{UNICODE}",
                    "name": "../own",
                    "uid": "own",
                    "controller": True,
                }
            ],
        ),
        told=("works", "own", ""),
    ),
    "a thousand ports of the node": poison(
        pod(
            "ports",
            containers=[
                {
                    "name": "c",
                    "image": "x",
                    "ports": [{"containerPort": 20000 + n, "hostPort": 20000 + n} for n in range(1000)],
                }
            ],
        ),
        told=("works", "ports", ""),
    ),
    "a claim that does not exist": poison(user_of("claimless", "none"), told=("pod", "claimless", "ClaimMissing")),
}

STORAGE: dict[str, Poison] = {
    "a claim beyond every integer": poison(
        driver("huge.csi"),
        storage_class("huge", "huge.csi"),
        claim("huge", "10E", "huge"),
        (
            CSI_STORAGE_CAPACITIES,
            {"metadata": {"name": "huge"}, "storageClassName": "huge", "nodeTopology": {}, "capacity": "7Ei"},
        ),
        user_of("huge-user", "huge"),
        told=("pod", "huge-user", "NoStorageRoom"),
    ),
    "a claim larger than all the room": poison(
        driver("little.csi"),
        storage_class("little", "little.csi"),
        claim("little", "1Ei", "little"),
        (
            CSI_STORAGE_CAPACITIES,
            {"metadata": {"name": "little"}, "storageClassName": "little", "nodeTopology": {}, "capacity": "1Pi"},
        ),
        user_of("little-user", "little"),
        told=("pod", "little-user", "NoStorageRoom"),
    ),
    "a class whose topologies are nowhere": poison(
        storage_class(
            "nowhere",
            "nowhere.csi",
            allowedTopologies=[{"matchLabelExpressions": [{"key": f"k{n}", "values": ["v"]}]} for n in range(100)],
        ),
        claim("nowhere", "1Gi", "nowhere"),
        user_of("nowhere-user", "nowhere"),
        told=("pod", "nowhere-user", "NoVolumeThere"),
    ),
    "a claim on a volume that is not there": poison(
        claim("ghost", "1Gi", "", volumeName="ghost-of-a-volume"),
        user_of("ghost-user", "ghost"),
        told=("pod", "ghost-user", "ClaimUnbound"),
    ),
    "a volume of all bytes with a hundred terms": poison(
        (
            PERSISTENT_VOLUMES,
            {
                "metadata": {"name": "all-bytes", "labels": {"topology.kubernetes.io/zone": "a__b__c"}},
                "spec": {
                    "capacity": {"storage": "10E"},
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "all-bytes",
                    "hostPath": {"path": "/x"},
                    "nodeAffinity": {
                        "required": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": f"k{n}", "operator": "Exists"}]} for n in range(100)
                            ]
                        }
                    },
                },
            },
        ),
        storage_class("all-bytes", "kubernetes.io/no-provisioner"),
        claim("all-bytes", "1Gi", "all-bytes"),
        user_of("all-bytes-user", "all-bytes"),
        told=("pod", "all-bytes-user", "NoVolumeThere"),
    ),
    "a node that may attach nothing": poison(
        (
            CSI_NODES,
            {
                "metadata": {"name": "nothing"},
                "spec": {"drivers": [{"name": "d", "nodeID": "n", "allocatable": {"count": 0}}]},
            },
        ),
        node("nothing"),
        pod("beside-nothing"),
        told=("works", "beside-nothing", ""),
    ),
    "an attachment of nothing to nowhere": poison(
        (
            VOLUME_ATTACHMENTS,
            {
                "metadata": {"name": "void"},
                "spec": {"attacher": "void", "nodeName": "void", "source": {"persistentVolumeName": "void"}},
            },
        ),
        pod("beside-void"),
        told=("works", "beside-void", ""),
    ),
}

NODES: dict[str, Poison] = {
    "a node with all memory there can be": poison(
        node("endless-1", offered={"memory": "16Ei", "cpu": "9000000000000000", "example.com/x": HUGE}),
        node("endless-2", offered={"memory": "16Ei", "cpu": "9000000000000000", "example.com/x": HUGE}),
        group("beside-endless", minMember=2),
        in_group("endless-a", "beside-endless"),
        in_group("endless-b", "beside-endless"),
        told=("works", "endless-b", ""),
    ),
    "a layout of cores that is none": poison(
        node("numa", {"fairlead.io/numa-cores": f"0=0-99999999;{UNICODE}=x"}),
        told=("event", "numa", "expected such as 0-15"),
    ),
    "a node with a hundred taints and notes": poison(
        node(
            "tainted",
            {f"n{n}": "x" * 1000 for n in range(200)},
            spec={"taints": [{"key": f"t{n}", "effect": "NoSchedule"} for n in range(100)]},
            labels={"only": "tainted", **{f"l{n}": "v" for n in range(300)}},
        ),
        pod("untolerated", nodeSelector={"only": "tainted"}),
        told=("pod", "untolerated", "TaintNotTolerated"),
    ),
    "a node that offers nothing": poison(
        node("empty", offered={"cpu": "0", "memory": "0", "pods": "0"}, labels={"only": "empty"}),
        pod("nowhere-to-go", nodeSelector={"only": "empty"}),
        told=("pod", "nowhere-to-go", "InsufficientRoom"),
    ),
}

QUEUES: dict[str, Poison] = {
    "a gang of two billion": poison(
        group("billions", minMember=2**31 - 1), in_group("one-of", "billions"), told=("pod", "one-of", "GangAbove")
    ),
    "a gang of less than none": poison(
        group("negative", minMember=-5), in_group("minus", "negative"), told=("works", "minus", "")
    ),
    "a gang that needs all memory there can be": poison(
        # Beside endless nodes its queue has to tell that this is too much: the whole may be more (docs/decisions/0200).
        queue("frugal", capability={"memory": "1Gi"}),
        group("greedy", queue="frugal", minResources={"memory": "16Ei", "cpu": HUGE}),
        in_group("greedy-1", "greedy"),
        told=("pod", "greedy-1", "GangAbove"),
    ),
    "a gang that needs a negative amount": poison(
        group("owing", minResources={"memory": "-1Gi"}),
        in_group("owing-1", "owing"),
        told=("pod", "owing-1", "GroupUnreadable"),
        more=(Told("event", "owing", "is negative"),),
    ),
    "a gang of half a device": poison(
        group("half", minResources={"example.com/gpu": "500m"}),
        in_group("half-1", "half"),
        told=("pod", "half-1", "GroupUnreadable"),
        more=(Told("event", "half", "cannot be divided"),),
    ),
    "a gang with impossible tasks": poison(
        group("tasks", minTaskMember={UNICODE: 2**31 - 1, "": 5}),
        in_group("tasks-1", "tasks"),
        told=("works", "tasks-1", ""),
    ),
    "an intent that is no record": poison(
        group("junk", {"fairlead.io/intent": "{" + UNICODE}), told=("event", "junk", "cannot be read")
    ),
    "an intent for pods that are not there": poison(
        group("promise", {"fairlead.io/intent": '{"at":-1e308,"prefix":"x","nodes":{"gone":["a","b"],"":[""]}}'}),
        in_group("promise-1", "promise"),
        told=("works", "promise-1", ""),
    ),
    "an intent of numbers": poison(
        group("numbers", {"fairlead.io/intent": '{"at":"soon","prefix":1,"nodes":[]}'}),
        told=("event", "numbers", "cannot be read"),
    ),
    "a queue of negative weight": poison(
        queue("minus", weight=-5), in_queue("in-minus", "minus"), told=("pod", "in-minus", "WeightOutOfRange")
    ),
    "a queue of all weights": poison(
        queue("heavy", weight=2**31 - 1), in_queue("in-heavy", "heavy"), told=("pod", "in-heavy", "WeightOutOfRange")
    ),
    "a queue that is its own parent": poison(
        queue("self", parent="self"), in_queue("in-self", "self"), told=("pod", "in-self", "ParentCycle")
    ),
    "two queues that are each other's parent": poison(
        queue("hen", parent="egg"),
        queue("egg", parent="hen"),
        in_queue("in-egg", "egg"),
        told=("pod", "in-egg", "ParentCycle"),
    ),
    "a queue below nothing": poison(
        queue("orphan", parent="nobody"), in_queue("in-orphan", "orphan"), told=("pod", "in-orphan", "UnknownParent")
    ),
    "a queue that may hold a negative amount": poison(
        queue("owed", capability={"memory": "-1Gi"}),
        in_queue("in-owed", "owed"),
        told=("pod", "in-owed", "QueueUnreadable"),
        more=(Told("event", "owed", "is negative"),),
    ),
    "a queue that deserves half a device": poison(
        queue("halved", deserved={"example.com/gpu": "0.5"}),
        in_queue("in-halved", "halved"),
        told=("pod", "in-halved", "cannot be divided"),
    ),
    "queues that are guaranteed all there can be": poison(
        *(queue(f"sure-{n}", guarantee={"resource": {"memory": "7Ei"}}, capability={"cpu": HUGE}) for n in range(20)),
        in_queue("in-sure", "sure-0"),
        told=("works", "in-sure", ""),
    ),
    "a queue in an odd state": poison(
        queue("odd", status={"state": "Unknown"}), in_queue("in-odd", "odd"), told=("pod", "in-odd", "QueueClosed")
    ),
    "a weight beyond all": poison(
        (RESOURCE_QUOTAS, {"metadata": {"name": "heavy"}, "spec": {"hard": {"volcano.sh/namespace.weight": "9E"}}}),
        told=("event", "heavy", "counts as 1"),
    ),
    "a weight of nothing": poison(
        (RESOURCE_QUOTAS, {"metadata": {"name": "light"}, "spec": {"hard": {"volcano.sh/namespace.weight": "0"}}}),
        told=("event", "light", "counts as 1"),
    ),
    "a budget over everything with a hundred expressions": poison(
        (
            DISRUPTION_BUDGETS,
            {
                "metadata": {"name": "all"},
                "spec": {
                    "maxUnavailable": 0,
                    "selector": {
                        "matchExpressions": [{"key": f"k{n}", "operator": "DoesNotExist"} for n in range(100)]
                    },
                },
            },
        ),
        pod("covered"),
        told=("works", "covered", ""),
    ),
    "the least priority there is": poison(
        (PRIORITY_CLASSES, {"metadata": {"name": "poison-least"}, "value": -(2**31)}),
        pod("least", priorityClassName="poison-least"),
        told=("works", "least", ""),
    ),
    "both ways to name a group and a queue at once": poison(
        pod(
            "both",
            annotations={GROUP: "a", "scheduling.volcano.sh/group-name": "b", QUEUE: "c", "volcano.sh/queue-name": "d"},
        ),
        told=("pod", "both", "UnknownGroup"),
    ),
}

LEDGERS: dict[str, Poison] = {
    "a ledger of no namespace that can be": poison(
        ledger("dots", {"namespace": "..", "replicaSet": "..", "deployment": "x"}), told=("event", "dots", "not a")
    ),
    "a ledger of a path": poison(
        ledger("path", {"namespace": "a", "replicaSet": ".", "deployment": "."}), told=("event", "path", "not a")
    ),
    "a ledger with ten thousand slots": poison(
        ledger(
            "slots",
            {"namespace": ".", "replicaSet": UNICODE, "deployment": "x"},
            slots={"granted": [f"slot-{n}" for n in range(10_000)], "seen": ["never-granted"]},
            count={"target": -(2**31), "held": 2**31, "reserved": -1, "spot": 2**62},
        ),
        told=("event", "slots", "not a"),
    ),
}

FLEET: dict[str, Poison] = {
    "a binding without a placement": poison(
        binding("bare", placement=None), told=("binding", "bare", "spec.placement")
    ),
    "a binding of fewer than none": poison(binding("fewer", -3), told=("binding", "fewer", "spec.replicas")),
    "a binding whose replicas need all memory": poison(
        binding("vast", replicaRequirements={"resourceRequest": {"memory": "1e30", "cpu": HUGE}}),
        told=("works", "vast", ""),
    ),
    "a binding whose replicas need a negative amount": poison(
        binding("owing-binding", replicaRequirements={"resourceRequest": {"memory": "-1"}}),
        told=("binding", "owing-binding", "is negative"),
    ),
    "knobs that are no record": poison(
        binding("knobs", annotations={"fairlead.io/divide": "{" + UNICODE}), told=("binding", "knobs", "divide")
    ),
    "a last result that is none": poison(
        binding("result", annotations={"fairlead.io/last-schedule-result": "[[[["}),
        told=("binding", "result", "last schedule result"),
    ),
    "weights beyond all": poison(
        binding(
            "weights",
            placement={
                "replicaScheduling": {
                    "replicaSchedulingType": "Divided",
                    "weightPreference": {
                        "staticWeightList": [{"targetCluster": {"clusterNames": ["m1"]}, "weight": 2**62}] * 100
                    },
                }
            },
        ),
        told=("binding", "weights", ""),
    ),
    "groups turned round": poison(
        binding(
            "round", placement={"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 9, "maxGroups": 2}]}
        ),
        told=("binding", "round", "maxGroups"),
    ),
    "a binding on clusters that are not there": poison(
        binding("elsewhere", clusters=[{"name": UNICODE, "replicas": 2**31 - 1}, {"name": "", "replicas": 0}]),
        told=("binding", "elsewhere", ""),
    ),
    NESTED: poison(binding("deep", deep=deep(2000)), told=("works", "deep", "")),
    "a placement of the wrong type": poison(
        binding("typed", placement={"clusterAffinity": {"clusterNames": "all of them"}}),
        told=("binding", "typed", "spec.placement"),
    ),
    "a cluster that offers all there can be": poison(
        cluster("sky", {"resourceSummary": {"allocatable": {"memory": "16Ei", "pods": HUGE}}}),
        binding("under-the-sky"),
        told=("works", "under-the-sky", ""),
    ),
    "a cluster whose amounts are words": poison(
        cluster("words", {"resourceSummary": {"allocatable": {"memory": "plenty"}, "allocated": {"cpu": "-1"}}}),
        told=("event", "words", "is not a quantity"),
    ),
    "a cluster of the wrong type": poison(
        cluster("shapeless", taints="none of them"), told=("event", "shapeless", "cannot be read")
    ),
}


def _odd_node() -> Poison:
    body = longhorn.node("odd-disks", a=10, b=10)
    for disk in body["status"]["diskStatus"].values():
        disk |= {"storageMaximum": 2**63 - 1, "storageAvailable": 2**63 - 1, "storageScheduled": -(2**63)}
    body["spec"]["disks"]["c"] = {"path": "", "allowScheduling": True, "storageReserved": -(2**63)}
    return poison((LONGHORN_NODES, body), told=("works", "ordinary-1-r1", ""))


def _volume(name: str, text: str, replicas: int = 1, size: str = "1073741824") -> Poison:
    body = longhorn.volume(name, 1, replicas)
    body["spec"]["size"] = size
    return poison(
        (LONGHORN_VOLUMES, body),
        (LONGHORN_REPLICAS, longhorn.replica(body, 1)),
        told=("report", name, text),
    )


LONGHORN: dict[str, Poison] = {
    "disks of all bytes and of fewer than none": _odd_node(),
    "a volume of no size": _volume("sizeless", "is 0", size="0"),
    "a volume of many bytes": _volume("many", "is not a quantity", size="many"),
    "a volume beyond every disk": _volume("vast", "NoDisk", size=HUGE),
    "a volume of fewer than none": _volume("owing", "is negative", size="-5"),
    "a volume of two billion replicas": _volume("two-billion", "expected at most 20", replicas=2**31 - 1),
    "a replica of no volume": poison(
        (LONGHORN_REPLICAS, longhorn.replica(longhorn.volume(UNICODE, 1), 1) | {"metadata": {"name": "astray-r1"}}),
        told=("report", "astray-r1", "is not there"),
    ),
    "a setting that is no number": poison(
        (
            LONGHORN_SETTINGS,
            {
                "apiVersion": longhorn.KIND,
                "kind": "Setting",
                "metadata": {"name": "storage-over-provisioning-percentage"},
                "value": UNICODE,
            },
        ),
        told=("report", "storage-over-provisioning-percentage", ""),
    ),
}

TABLE: dict[str, Poison] = {**PODS, **STORAGE, **NODES, **QUEUES, **LEDGERS, **FLEET, **LONGHORN}
