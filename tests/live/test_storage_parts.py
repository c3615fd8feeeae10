"""Parts of the storage component by themselves: what is known, what is said, what is deployed, what is configured."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from click.testing import CliRunner

from fairlead.cli.main import cli
from fairlead.cli.storage import _print
from fairlead.kube.changes import Change
from fairlead.kube.objects.longhorn import LonghornNode, LonghornReplica, LonghornVolume
from fairlead.levels.disk import reasons as why
from fairlead.levels.disk.balance import balance
from fairlead.live.storage import messages
from fairlead.live.storage.cache import ReplicaPlacement, Seen, StorageCache
from fairlead.live.storage.decide import StorageRules, advise, outlook
from fairlead.live.storage.main import NAME
from fairlead.live.storage.report import Report
from fairlead.live.storage.writer import patch_of
from fairlead.model.balancing import BalancePolicy
from fairlead.model.disks import Closed, Disk, disk_table
from fairlead.model.errors import InputError
from fairlead.model.storage import HeldReplica, StorageVolume
from fairlead.settings import DEFAULTS, StorageSettings, read_configuration
from tests.deploys import deployed
from tests.live.longhorn_objects import counted, node, replica, volume

GIB = 2**30


def shaped(body: dict[str, Any], version: int, uid: str = "u-1234567890") -> LonghornReplica:
    meta = {**body["metadata"], "uid": uid, "resourceVersion": str(version)}
    return msgspec.convert({**body, "metadata": meta}, LonghornReplica)


def placement(of: LonghornReplica, where: str = "n1") -> ReplicaPlacement:
    return ReplicaPlacement(replica=of, node=where, disk="d", uuid=f"uuid-{where}-d", path=f"/disks/{where}-d")


WAITING = shaped(replica(volume("a", 5), 1), 7)


def known(*replicas: LonghornReplica) -> StorageCache:
    found = StorageCache({}, {})
    for each in replicas:
        found.on_replica(Change("added", each))
    return found


def test_assumed_placement_counts_until_it_is_written_or_undone() -> None:
    """Assumed: on its disk; undone: it waits; written: as the server answered."""
    found = known(WAITING)
    decided = placement(WAITING)
    found.assume(decided, found.moment)
    assert found.replicas["a-r1"].spec.node_id == "n1"
    assert not found.still(decided)
    found.undo(decided)
    assert found.still(decided)
    found.assume(decided, found.moment)
    found.written(shaped(replica(volume("a", 5), 1, "n1/d"), 9))
    assert found.replicas["a-r1"].metadata.resource_version == "9"


def test_echo_of_our_own_write_is_no_news_and_older_states_are_ignored() -> None:
    """The watch comes after the answer, or before it, or with something older."""
    answer = shaped(replica(volume("a", 5), 1, "n1/d"), 9)
    found = known(WAITING)
    found.assume(placement(WAITING), found.moment)
    assert not found.on_replica(Change("modified", WAITING))
    found.written(answer)
    assert not found.on_replica(Change("modified", answer))
    assert not found.on_replica(Change("modified", shaped(replica(volume("a", 5), 1), 8)))
    early = known(WAITING)
    early.assume(placement(WAITING), early.moment)
    assert not early.on_replica(Change("modified", shaped(replica(volume("a", 5), 1, "n1/d"), 11)))
    early.written(answer)
    assert early.replicas["a-r1"].metadata.resource_version == "11"


def test_a_write_of_another_beside_ours_is_news() -> None:
    """Another disk, or another field that changed with it, is looked at."""
    ours = shaped(replica(volume("a", 5), 1, "n1/d"), 9)
    spec = msgspec.structs.replace(ours.spec, eviction_requested=True)
    for seen in (shaped(replica(volume("a", 5), 1, "n2/d"), 9), msgspec.structs.replace(ours, spec=spec)):
        found = known(WAITING)
        found.assume(placement(WAITING), found.moment)
        assert found.on_replica(Change("modified", seen))


def test_failure_of_an_older_placement_does_not_undo_a_newer_one() -> None:
    """Edited while it was being written and decided anew: what the first try meets says nothing about the second."""
    first = placement(WAITING)
    found = known(WAITING)
    found.assume(first, found.moment)
    edited = shaped(replica(volume("a", 5), 1), 8)
    assert found.on_replica(Change("modified", edited))
    second = placement(edited, "n2")
    found.assume(second, found.moment)
    found.undo(first)
    assert found.replicas["a-r1"].spec.node_id == "n2"
    found.undo(second)
    assert found.still(second)


def test_replica_that_was_deleted_and_made_anew_is_another_one() -> None:
    """A late answer does not bring the old one back; a deletion of the old one does not touch the new one."""
    anew = shaped(replica(volume("a", 5), 1), 3, uid="u-2")
    found = known(WAITING)
    found.assume(placement(WAITING), found.moment)
    assert found.on_replica(Change("deleted", WAITING))
    found.written(shaped(replica(volume("a", 5), 1, "n1/d"), 9))
    assert found.replicas == {}
    assert found.on_replica(Change("added", anew))
    assert not found.on_replica(Change("deleted", WAITING))
    found.written(shaped(replica(volume("a", 5), 1, "n1/d"), 9))
    assert found.replicas["a-r1"] is anew
    again = placement(anew, "n2")
    found.assume(again, found.moment)
    found.written(shaped(replica(volume("a", 5), 1, "n1/d"), 9))
    assert found.replicas["a-r1"].spec.node_id == "n2"
    found.undo(again)
    assert found.still(again)


def test_node_read_again_is_believed_until_the_watch_is_newer() -> None:
    """By version; one that is gone is gone."""

    def at(version: int) -> LonghornNode:
        body = node("n1", d=100)
        return msgspec.convert(
            {**body, "metadata": {**body["metadata"], "resourceVersion": str(version)}}, LonghornNode
        )

    found = known()
    assert found.on_node(Change("added", at(5)))
    found.read_again(at(8))
    assert not found.on_node(Change("modified", at(6)))
    assert found.nodes["n1"].metadata.resource_version == "8"
    found.read_again(at(7))
    assert found.nodes["n1"].metadata.resource_version == "8"
    found.not_found(at(5))
    assert found.nodes == {}
    assert not found.on_node(Change("deleted", at(9)))


def test_node_that_is_deleted_while_it_is_read_does_not_come_back() -> None:
    """Neither to a place that is empty, nor to that of the node made anew; one made anew may be read first."""

    def at(version: int, uid: str) -> LonghornNode:
        meta = {"name": "n1", "uid": uid, "resourceVersion": str(version)}
        return msgspec.convert({**node("n1", d=100), "metadata": meta}, LonghornNode)

    found = known()
    found.on_node(Change("added", at(5, "old")))
    found.on_node(Change("deleted", at(7, "old")))
    found.read_again(at(6, "old"))
    assert found.nodes == {}
    assert found.on_node(Change("added", at(9, "new")))
    found.read_again(at(6, "old"))
    assert found.nodes["n1"].metadata.uid == "new"
    found.read_again(at(12, "newer"))
    assert found.nodes["n1"].metadata.uid == "newer"


def test_node_that_is_made_anew_while_it_is_read_stays() -> None:
    """The server had none when it was asked; the watch has told of the new one before the answer came."""

    def at(version: int, uid: str) -> LonghornNode:
        meta = {"name": "n1", "uid": uid, "resourceVersion": str(version)}
        return msgspec.convert({**node("n1", d=100), "metadata": meta}, LonghornNode)

    found = known()
    found.on_node(Change("added", at(9, "new")))
    found.not_found(at(5, "old"))
    assert found.nodes["n1"].metadata.uid == "new"


def test_patch_is_the_same_however_often_it_is_made_and_keeps_a_folder() -> None:
    """The folder follows from the uid; one that Longhorn gave stays."""
    assert patch_of(placement(WAITING)) == patch_of(placement(WAITING))
    assert patch_of(placement(WAITING))["spec"]["dataDirectoryName"] == "a-u-123456"
    kept = shaped(replica(volume("a", 5), 1, dataDirectoryName="a-old"), 7)
    assert patch_of(placement(kept))["spec"]["dataDirectoryName"] == "a-old"
    assert patch_of(placement(kept))["metadata"]["resourceVersion"] == "7"


def test_every_reason_of_a_disk_has_something_that_would_help() -> None:
    """Else a volume would be told half of it."""
    assert set(messages._HELP) == set(why.REASONS_OF_A_DISK)


def test_volume_is_told_counts_names_and_what_comes_nearest() -> None:
    """The most frequent reason first; the theme has no bytes in it."""
    disks = disk_table(
        [
            Disk(node="a", name="d", usable_bytes=900 * GIB),
            *(Disk(node=f"b{row}", name="d", usable_bytes=(10 + row) * GIB) for row in range(4)),
            Disk(node="c", name="d", usable_bytes=0, closed=Closed.NODE_NOT_READY),
        ]
    )
    asked = StorageVolume(name="v", size_bytes=50 * GIB, held=(HeldReplica(name="r", node="a", disk="d"),))
    outcome = balance([asked], disks, BalancePolicy()).outcomes[0]
    theme, note = messages.refused(outcome, disks)
    parts = "4 InsufficientUsable (b0/d, b1/d, b2/d, …), 1 NodeNotReady (c/d), 1 NodeAntiAffinity (a/d)"
    assert theme == f"1 of 1 {parts}"
    assert note.startswith(
        f"1 of 1 storage replicas has no disk; of 6 disks {parts}; b3/d comes nearest and lacks 37Gi;"
    )
    assert "one more node, or soft anti-affinity of nodes" in note


def test_no_disks_at_all_are_told_as_such() -> None:
    """There is nothing to count."""
    outcome = balance([StorageVolume(name="v", size_bytes=1, replicas=2)], disk_table([]), BalancePolicy()).outcomes[0]
    assert messages.refused(outcome, disk_table([])) == (
        "NoDisks",
        "2 of 2 storage replicas have no disk: there are no disks (NoDisks)",
    )


def test_deployment_files_agree_with_the_program() -> None:
    """Names and namespaces are those of the settings; two restricted pods."""
    objects = deployed("storage")
    spaces = {each["metadata"]["namespace"] for each in objects if each["kind"] == "Role"}
    assert spaces == {DEFAULTS.storage.namespace, DEFAULTS.storage.longhorn_namespace}
    leases = [rule for each in objects for rule in each.get("rules", ()) if rule["resources"] == ["leases"]]
    assert [rule.get("resourceNames") for rule in leases] == [None, [NAME]]
    deployment = next(each for each in objects if each["kind"] == "Deployment")["spec"]
    pod = deployment["template"]["spec"]
    assert (deployment["replicas"], pod["securityContext"]["runAsNonRoot"]) == (2, True)
    assert pod["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert not _settings("storage").act
    assert _settings("storage-act").act


def _settings(folder: str) -> StorageSettings:
    """What the ConfigMap of a folder says."""
    (found,) = (each for each in deployed(folder) if each["kind"] == "ConfigMap")
    return read_configuration(found["data"]["fairlead.yaml"].encode(), folder).storage


def test_rights_to_write_come_with_acting_only() -> None:
    """Advice may write Events and the lease and nothing else; acting may read a node and patch a Replica."""
    rights = {
        folder: {
            (resource, verb)
            for each in deployed(folder)
            for rule in each.get("rules", ())
            for resource in rule["resources"]
            for verb in rule["verbs"]
            if verb not in ("list", "watch")
        }
        for folder in ("storage", "storage-act")
    }
    advice = {
        ("events", "create"),
        ("events", "patch"),
        ("leases", "create"),
        ("leases", "get"),
        ("leases", "update"),
    }
    assert rights == {"storage": advice, "storage-act": advice | {("nodes", "get"), ("replicas", "patch")}}


@pytest.mark.parametrize(
    ("given", "place"), [("maxBytes: many", "maxBytes"), ("alpha: 2", "alpha"), ("usableAs: x", "usableAs")]
)
def test_settings_that_cannot_be_used_are_refused_with_their_place(given: str, place: str) -> None:
    """As those of other components."""
    text = f"apiVersion: fairlead.io/v1alpha1\nkind: Configuration\nstorage: {{{given}}}\n"
    with pytest.raises(InputError) as caught:
        read_configuration(text.encode(), "f")
    assert place in str(caught.value)


def test_command_without_a_cluster_says_so_in_one_line(tmp_path: Path) -> None:
    """No kubeconfig where one is named."""
    answer = CliRunner().invoke(cli, ["storage", "--once", "--kubeconfig", str(tmp_path / "none")])
    assert answer.exit_code != 0
    assert isinstance(answer.exception, InputError)


def _report() -> Report:
    """A replica that fits, one that does not, one that Longhorn has to place, a move, an error, a kind not served."""
    fits, big, imaged, uneven = volume("fits", 5), volume("big", 700), volume("imaged", 5), volume("uneven", 30)
    sitting = replica(uneven, 1, "n1/d")
    broken = volume("broken", 5)
    broken["spec"]["size"] = "many"
    bodies = [
        *[counted(node("n1", d=60), [sitting]), node("n2", d=100), fits, big, imaged, uneven, broken],
        *[replica(fits, 1), replica(big, 1), replica(imaged, 1, backingImage="x"), sitting],
    ]
    shapes = {"Node": LonghornNode, "Volume": LonghornVolume, "Replica": LonghornReplica}
    typed = {kind: tuple(msgspec.convert(o, s) for o in bodies if o["kind"] == kind) for kind, s in shapes.items()}
    seen = Seen(nodes=typed["Node"], volumes=typed["Volume"], replicas=typed["Replica"], settings=())
    return Report(
        outlook=outlook(seen, StorageRules(), 0.0),
        advice=advise(seen, StorageRules(), 0.0),
        missing=("settings.longhorn.io",),
    )


def test_one_look_is_drawn_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """What is not served, what could not be used, who gets a disk, who does not, which move helps."""
    _print(_report(), "table")
    assert capsys.readouterr().out.splitlines() == [
        "settings.longhorn.io are not served here",
        "4 volumes on 2 disks of 2 nodes",
        "1 could not be used",
        '  Volume broken: spec.size: \'many\' is not a quantity; expected a quantity such as "100m", "2" or "1.5Gi"',
        "1 without a disk, and there is one",
        "  fits-r1 → n2/d",
        "2 lack a disk",
        "  big: 1 of 1 storage replicas has no disk; of 2 disks 2 OverProvisioned (n1/d, n2/d); what would help: one "
        "more disk, or a higher storage-over-provisioning-percentage",
        "  imaged: it has a backing image, which only some disks have; Longhorn places it",
        "1 move; imbalance of nodes 1.077 → 0.154, of disks in a node 0.000 → 0.000",
        "  uneven-r1 30Gi  n1/d → n2/d  1.077 → 0.154",
    ]


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_one_look_is_printed_as_a_record(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same record in both forms; a replica without a disk makes the look incomplete."""
    _print(_report(), form)
    record = yaml.safe_load(capsys.readouterr().out)
    assert [each["reason"] for each in record["unscheduled"]] == ["NoDisk", "LeftToLonghorn"]
    assert record["placeable"] == [{"volume": "fits", "replica": "fits-r1", "node": "n2", "disk": "d"}]
    assert record["moves"][0]["to"] == {"node": "n2", "disk": "d"}
    assert _report().lacking
