"""Which volumes a workload uses, by way of the claims that its pods name."""

from collections.abc import Iterator

from fairlead.kube.codec.volumes import claims_named
from fairlead.kube.manifests.catalogue import Catalogue, cluster_of
from fairlead.kube.manifests.controllers import owner_key, replica_set_owners
from fairlead.kube.objects.pod import Pod
from fairlead.kube.objects.storage import PersistentVolumeClaim
from fairlead.kube.objects.workloads import BatchJob, Deployment, StatefulSet


def claimed_volumes(found: Catalogue, cluster: str, key: str) -> tuple[str, ...]:
    """The names of the volumes bound to the claims of a workload (KIND/NAMESPACE/NAME) in one cluster, in order."""
    kind, namespace, name = key.split("/", 2)
    claims = {
        each.metadata.name: each.spec.volume_name
        for each in found.of(PersistentVolumeClaim)
        if cluster_of(each) in ("", cluster) and each.metadata.namespace == namespace
    }
    if not claims:
        return ()
    named = dict.fromkeys(_named(found, cluster, kind, namespace, name))
    templates = tuple(f"{each}-{name}-" for each in _templates(found, namespace, name)) if kind == "StatefulSet" else ()
    wanted = (claim for claim in claims if claim in named or _made(claim, templates))
    return tuple(claims[claim] for claim in wanted if claims[claim])


def _made(claim: str, templates: tuple[str, ...]) -> bool:
    """Whether a StatefulSet made the claim for one of its ordinals."""
    return any(claim.startswith(each) and claim.removeprefix(each).isdigit() for each in templates)


def _templates(found: Catalogue, namespace: str, name: str) -> Iterator[str]:
    for each in found.of(StatefulSet):
        if (each.metadata.namespace, each.metadata.name) == (namespace, name):
            yield from (template.metadata.name for template in each.spec.volume_claim_templates)


def _named(found: Catalogue, cluster: str, kind: str, namespace: str, name: str) -> Iterator[str]:
    """The claims that the workload's template and its pods name."""
    controllers: list[Deployment | StatefulSet | BatchJob] = [
        *found.of(Deployment),
        *found.of(StatefulSet),
        *found.of(BatchJob),
    ]
    for each in controllers:
        if (type(each).__name__, each.metadata.namespace, each.metadata.name) == (kind, namespace, name):
            yield from claims_named(each.spec.template.spec)
    owners = replica_set_owners(found, cluster)
    for pod in found.at(Pod, cluster):
        if owner_key(pod, owners) == f"{kind}/{namespace}/{name}":
            yield from claims_named(pod.spec)
