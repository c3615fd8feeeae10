"""The deployment files of the webhook agree with the program: names, paths, times, the configuration inside."""

from typing import Any

import msgspec
import pytest
from tools.manifests.__main__ import behind, chart_files
from tools.manifests.folders import FOLDERS, TOGETHER

from fairlead.levels.tier.presets import PRESETS
from fairlead.settings import DEFAULTS, read_configuration
from tests.deploys import DEPLOY, added, deployed, listed, place


def _objects(folder: str = "webhook") -> list[dict[str, Any]]:
    return deployed("common", folder)


def _one(kind: str, name: str = "fairlead-webhook", folder: str = "webhook") -> dict[str, Any]:
    found = [each for each in _objects(folder) if each["kind"] == kind and each["metadata"]["name"] == name]
    assert len(found) == 1
    return found[0]


def _verbs(role: dict[str, Any], resource: str) -> set[str]:
    return {verb for rule in role["rules"] if resource in rule["resources"] for verb in rule["verbs"]}


COMPONENTS = tuple(each.name for each in FOLDERS if each.name != "common")


def test_chart_fits_the_program() -> None:
    """The schema of the chart's values is that of the settings, its version that of the package."""
    assert not [path.name for path, _ in behind(chart_files())], "run: python -m tools.manifests --chart"


def test_all_folders_together_have_no_object_twice() -> None:
    """One kustomization may name them all."""
    places = [place(each) for each in deployed(*TOGETHER)]
    assert sorted(set(places)) == sorted(places)
    assert tuple(listed(".")) == TOGETHER


@pytest.mark.parametrize("folder", ["common", *COMPONENTS])
def test_every_file_is_listed(folder: str) -> None:
    """A file that kustomize does not know of is not applied."""
    assert set(listed(folder)) == {path.name for path in (DEPLOY / folder).glob("*.yaml")} - {"kustomization.yaml"}


@pytest.mark.parametrize("folder", COMPONENTS)
def test_deleting_a_component_leaves_what_the_others_use(folder: str) -> None:
    """`kubectl delete -k` of one component takes neither the namespace nor the switch of evictions."""
    own = {(each["kind"], each["metadata"]["name"]) for each in deployed(folder)}
    shared = {(each["kind"], each["metadata"]["name"]) for each in deployed("common")}
    assert shared == {("Namespace", "fairlead-system"), ("ConfigMap", "fairlead-evictions")}
    assert not own & shared


@pytest.mark.parametrize("folder", [each for each in COMPONENTS if each != "fleet"])
def test_pods_with_a_read_only_root_have_a_place_to_write(folder: str) -> None:
    """Credential plugins and dumps need one."""
    (deployment,) = (each for each in deployed(folder) if each["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    (name,) = (each["name"] for each in container["volumeMounts"] if each["mountPath"] == "/tmp")
    (volume,) = (each for each in pod["volumes"] if each["name"] == name)
    assert volume["emptyDir"]["sizeLimit"]


def test_reviews_are_for_the_control_plane_alone() -> None:
    """The policy covers the webhook's pods; its ports are those of the container, and pods are not let in."""
    policy, pod = _one("NetworkPolicy")["spec"], _one("Deployment")["spec"]["template"]
    assert policy["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    reviews, health = policy["ingress"]
    ports = [port["port"] for each in (reviews, health) for port in each["ports"]]
    assert ports == [port["name"] for port in pod["spec"]["containers"][0]["ports"]]
    assert "from" not in health
    assert not any("podSelector" in each for each in reviews["from"])
    (spaces,) = (each["namespaceSelector"] for each in reviews["from"] if "namespaceSelector" in each)
    assert spaces == {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}


def test_configuration_is_one_that_the_program_reads() -> None:
    """The ConfigMap holds a valid configuration, equal to the defaults where it says nothing new."""
    text = _one("ConfigMap")["data"]["fairlead.yaml"]
    assert read_configuration(text.encode(), "fairlead.yaml") == DEFAULTS


def test_names_are_those_of_the_settings() -> None:
    """Service, configurations, Secret and namespace are called what the program expects."""
    settings = DEFAULTS.webhook
    assert _one("Namespace", settings.namespace)
    assert _one("Service", settings.service)
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for webhook in _one(kind, settings.configuration)["webhooks"]:
            service = webhook["clientConfig"]["service"]
            assert (service["name"], service["namespace"]) == (settings.service, settings.namespace)
    rules = _one("Role", "fairlead-webhook-certificate")["rules"]
    named = [rule.get("resourceNames") for rule in rules if "secrets" in rule["resources"]]
    assert [settings.secret] in named


def test_webhooks_ask_as_they_should() -> None:
    """Dry runs are told apart, the time suffices for a consistent list, and our own namespace is left out."""
    mutating = _one("MutatingWebhookConfiguration")["webhooks"][0]
    assert mutating["sideEffects"] == "NoneOnDryRun"
    assert 5 <= mutating["timeoutSeconds"] <= 30
    assert mutating["timeoutSeconds"] > DEFAULTS.webhook.budget_seconds
    assert mutating["matchConditions"]
    excluded = mutating["namespaceSelector"]["matchExpressions"][0]["values"]
    assert {"kube-system", DEFAULTS.webhook.namespace} <= set(excluded)
    paths = {
        each["clientConfig"]["service"]["path"]
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
        for each in _one(kind)["webhooks"]
    }
    assert paths == {"/mutate", "/validate"}


def test_rights_are_no_more_than_needed() -> None:
    """Pods are only read; changing and evicting them are roles of their own that nobody has by default."""
    role = _one("ClusterRole")
    assert _verbs(role, "pods") == {"get", "list", "watch"}
    assert _verbs(role, "deployments") == {"get", "list", "watch"}
    assert not any(
        "*" in rule["verbs"] + rule["resources"]
        for each in _objects()
        for rule in each.get("rules", [])
        if "verbs" in rule
    )
    assert _bound("webhook") == {"fairlead-webhook", "fairlead-webhook-certificate"}
    assert _bound("webhook-gated") - _bound("webhook") == {"fairlead-webhook-gated"}
    assert _bound("webhook-evictions") - _bound("webhook") == {"fairlead-webhook-repair"}
    assert _bound("scheduler-evictions") - _bound("scheduler") == {"fairlead-scheduler-evictions"}


def _bound(folder: str) -> set[str]:
    return {each["roleRef"]["name"] for each in deployed(folder) if each["kind"].endswith("RoleBinding")}


def test_pods_of_the_webhook_are_restricted_and_kept() -> None:
    """Not root, nothing writable, no capabilities; two of them, off spot if they can, with a disruption budget."""
    spec = _one("Deployment")["spec"]
    pod, container = spec["template"]["spec"], spec["template"]["spec"]["containers"][0]
    assert spec["replicas"] == 2
    (wish,) = pod["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    rules = wish["preference"]["matchExpressions"]
    known = [{"key": each.key, "operator": "NotIn", "values": list(each.spot)} for each in PRESETS]
    assert rules == known
    assert "nodeSelector" not in pod
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert pod["terminationGracePeriodSeconds"] > DEFAULTS.webhook.drain_seconds + DEFAULTS.webhook.budget_seconds
    assert _one("PodDisruptionBudget")["spec"]["minAvailable"] == 1


def test_certificate_of_cert_manager_is_mounted_where_the_configuration_reads() -> None:
    """Nothing of the right to make one's own is left, and the authority is put in by cert-manager."""
    folder, settings = "webhook-cert-manager", DEFAULTS.webhook
    assert {each["kind"] for each in added(folder, "webhook")} == {"Issuer", "Certificate"}
    assert _bound(folder) == {"fairlead-webhook"}
    assert "Secret" not in {each["kind"] for each in deployed(folder)}
    certificate = _one("Certificate", folder=folder)
    assert f"{settings.service}.{settings.namespace}.svc" in certificate["spec"]["dnsNames"]
    pod = _one("Deployment", folder=folder)["spec"]["template"]["spec"]
    (volume,) = (each for each in pod["volumes"] if each["name"] == "certificate")
    assert volume["secret"]["secretName"] == certificate["spec"]["secretName"]
    (mount,) = (each for each in pod["containers"][0]["volumeMounts"] if each["name"] == "certificate")
    read = read_configuration(_one("ConfigMap", folder=folder)["data"]["fairlead.yaml"].encode(), folder)
    changed = msgspec.structs.replace(settings, certificate_folder=mount["mountPath"])
    assert read == msgspec.structs.replace(DEFAULTS, webhook=changed)
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        source = _one(kind, folder=folder)["metadata"]["annotations"]["cert-manager.io/inject-ca-from"]
        assert source == f"{settings.namespace}/{certificate['metadata']['name']}"


def test_columns_of_a_ledger_are_fields_of_it() -> None:
    """`kubectl get tierledgers` shows target, held and spot, and what it shows is in the schema."""
    version = _one("CustomResourceDefinition", "tierledgers.fairlead.io")["spec"]["versions"][0]
    columns = {each["name"]: each["jsonPath"] for each in version["additionalPrinterColumns"]}
    assert {"Target", "Held", "Spot"} <= columns.keys()
    for path in columns.values():
        here = version["schema"]["openAPIV3Schema"]
        for key in path.removeprefix(".").split("."):
            if key == "metadata":
                break
            here = here["properties"][key]
