"""The deployment files of the webhook agree with the program: names, paths, times, the configuration inside."""

from typing import Any

import msgspec
import pytest
import yaml

from fairlead.settings import DEFAULTS, read_configuration
from tests.deploys import DEPLOY, deployed, listed

CERT_MANAGER = DEPLOY / "webhook-cert-manager"


def _objects() -> list[dict[str, Any]]:
    return deployed("common", "webhook")


def _one(kind: str, name: str = "fairlead-webhook") -> dict[str, Any]:
    found = [each for each in _objects() if each["kind"] == kind and each["metadata"]["name"] == name]
    assert len(found) == 1
    return found[0]


def _verbs(role: dict[str, Any], resource: str) -> set[str]:
    return {verb for rule in role["rules"] if resource in rule["resources"] for verb in rule["verbs"]}


COMPONENTS = ("webhook", "scheduler", "storage", "fleet", "fleet/host")


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
    others = [each for other in COMPONENTS if other != folder for each in deployed(other)]
    assert not own & {(each["kind"], each["metadata"]["name"]) for each in others if folder.startswith("fleet")}


@pytest.mark.parametrize("folder", ["webhook", "scheduler", "storage", "fleet/host"])
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
    assert policy["podSelector"]["matchLabels"] == pod["metadata"]["labels"]
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
    assert _verbs(role, "pods") == {"list", "watch"}
    assert _verbs(role, "deployments") == {"get", "list", "watch"}
    assert not any(
        "*" in rule["verbs"] + rule["resources"]
        for each in _objects()
        for rule in each.get("rules", [])
        if "verbs" in rule
    )
    bound = {each["roleRef"]["name"] for each in _objects() if each["kind"].endswith("RoleBinding")}
    assert bound == {"fairlead-webhook", "fairlead-webhook-certificate"}


def test_pods_of_the_webhook_are_restricted_and_kept() -> None:
    """Not root, nothing writable, no capabilities; two of them, on on-demand nodes, with a disruption budget."""
    spec = _one("Deployment")["spec"]
    pod, container = spec["template"]["spec"], spec["template"]["spec"]["containers"][0]
    assert spec["replicas"] == 2
    assert pod["nodeSelector"] == {"node.kubernetes.io/capacity": "on-demand"}
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert pod["terminationGracePeriodSeconds"] > DEFAULTS.webhook.drain_seconds + DEFAULTS.webhook.budget_seconds
    assert _one("PodDisruptionBudget")["spec"]["minAvailable"] == 1


def test_cert_manager_variant_fits_the_files_it_changes() -> None:
    """Its patches name objects that are there; the Secret that it makes is mounted where the configuration reads."""
    variant = yaml.safe_load((CERT_MANAGER / "kustomization.yaml").read_text())
    assert variant["resources"] == ["../webhook", "certificate.yaml"]
    patches = [
        each
        for patch in variant["patches"]
        if "path" in patch
        for each in yaml.safe_load_all((CERT_MANAGER / patch["path"]).read_text())
    ]
    for each in patches:
        assert _one(each["kind"], each["metadata"]["name"])
    removed = next(patch["target"]["name"] for patch in variant["patches"] if "target" in patch)
    rights = sorted(each["kind"] for each in _objects() if each["metadata"]["name"] == removed)
    assert rights == ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]
    _, certificate = yaml.safe_load_all((CERT_MANAGER / "certificate.yaml").read_text())
    settings = DEFAULTS.webhook
    assert f"{settings.service}.{settings.namespace}.svc" in certificate["spec"]["dnsNames"]
    by_kind = {each["kind"]: each for each in patches}
    pod = by_kind["Deployment"]["spec"]["template"]["spec"]
    assert pod["volumes"][0]["secret"]["secretName"] == certificate["spec"]["secretName"]
    read = read_configuration(by_kind["ConfigMap"]["data"]["fairlead.yaml"].encode(), "fairlead.yaml")
    folder = read.webhook.certificate_folder
    assert pod["containers"][0]["volumeMounts"][0]["mountPath"] == folder
    assert read == msgspec.structs.replace(
        DEFAULTS, webhook=msgspec.structs.replace(settings, certificate_folder=folder)
    )
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        source = by_kind[kind]["metadata"]["annotations"]["cert-manager.io/inject-ca-from"]
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
