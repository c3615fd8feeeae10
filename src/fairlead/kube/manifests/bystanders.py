"""Kinds that have no say in where pods run: a plan passes over them without a word (docs/decisions/0395).

What may make, change, refuse or move pods does not belong here, even where it is passed over: that is told.
"""

GROUPS = frozenset(
    {
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "gateway.networking.k8s.io",
        "networking.istio.io",
        "networking.k8s.io",
        "rbac.authorization.k8s.io",
        "route.openshift.io",
        "security.istio.io",
        "snapshot.storage.k8s.io",
    }
)
"""Groups all of whose kinds are such."""

KINDS = frozenset(
    (group, kind)
    for group, kinds in {
        "": ("ConfigMap", "Endpoints", "Event", "Secret", "Service", "ServiceAccount"),
        "extensions": ("Ingress", "NetworkPolicy"),
        "argoproj.io": ("AppProject",),
        "cert-manager.io": ("Certificate", "CertificateRequest", "ClusterIssuer", "Issuer"),
        "longhorn.io": ("Backup", "BackupTarget", "BackupVolume", "Orphan", "Snapshot", "SupportBundle"),
        "monitoring.coreos.com": ("AlertmanagerConfig", "PodMonitor", "Probe", "PrometheusRule", "ScrapeConfig",
                                  "ServiceMonitor"),
    }.items()
    for kind in kinds
)  # fmt: skip
"""Kinds of groups that have others too: a Prometheus makes pods, a ServiceMonitor does not."""


def is_bystander(group: str, kind: str) -> bool:
    """Whether objects of the kind cannot change a plan, by what they are."""
    return group in GROUPS or (group, kind) in KINDS
