"""The schema of the chart's values: what the chart itself takes, and the configuration as the program reads it."""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.settings import Configuration

Schema = dict[str, Any]

FILLED_IN = {
    "webhook": ("namespace", "listen", "health", "configuration", "service", "certificateFolder", "shadow"),
    "evictions": ("namespace",),
    "fleet": ("health", "shadow"),
    "storage": ("namespace", "health", "shadow"),
}
"""Settings that the chart decides: where things are, and what else it has a value for."""

LEASE_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
"""The scheduler's lease is called by its name."""
BOOLEAN: Schema = {"type": "boolean"}
TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}
LABELS: Schema = {"type": "object", "additionalProperties": TEXT}
ANYTHING: Schema = {"type": "object"}
OBJECTS: Schema = {"type": "array", "items": ANYTHING}
COUNT: Schema = {"type": "integer", "minimum": 0}


def values_schema() -> Schema:
    """The whole `values.schema.json`."""
    definitions = msgspec.json.schema(Configuration)["$defs"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_closed(
            image=_closed(
                repository={"type": "string", "minLength": 1},
                tag=TEXT,
                digest={"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
                pullPolicy={"enum": ["Always", "IfNotPresent", "Never"]},
                pullSecrets=OBJECTS,
            ),
            configuration=_configuration(definitions),
            crds=_closed(install=BOOLEAN, keep=BOOLEAN),
            namespace=_closed(create=BOOLEAN),
            evictionSwitch=_closed(create=BOOLEAN),
            labels=LABELS,
            annotations=LABELS,
            monitoring=_monitoring(),
            telemetry=_telemetry(),
            webhook=_webhook(),
            scheduler=_scheduler(),
            fleet=_closed(**_component(), **_writing(), kubeconfigSecret=TEXT, rights=BOOLEAN),
            storage=_closed(**_component(), **_writing()),
            ui=_closed(**_component()),
            # Helm's own: what a parent chart hands down.
            **{"global": ANYTHING},
        ),
        "$defs": {name: each for name, each in definitions.items() if name != "Configuration"},
    }


def _closed(**properties: Schema) -> Schema:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _configuration(definitions: dict[str, Schema]) -> Schema:
    """The sections of the configuration; what the chart fills in is taken out of them."""
    sections = definitions["Configuration"]["properties"]
    for name, filled in FILLED_IN.items():
        section = definitions[_definition(sections[name])]["properties"]
        for each in filled:
            del section[each]
    return _closed(**{name: {"$ref": each["$ref"]} for name, each in sections.items() if "$ref" in each})


def _definition(reference: Schema) -> str:
    return str(reference["$ref"]).removeprefix("#/$defs/")


def _component() -> dict[str, Schema]:
    """What every component takes."""
    return {
        "enabled": BOOLEAN,
        "replicas": COUNT,
        "resources": ANYTHING,
        "nodeSelector": LABELS,
        "affinity": ANYTHING,
        "tolerations": OBJECTS,
        "topologySpreadConstraints": OBJECTS,
        "priorityClassName": TEXT,
        "podLabels": LABELS,
        "podAnnotations": LABELS,
        "extraArguments": TEXTS,
        "networkPolicy": _closed(enabled=BOOLEAN),
    }


def _writing() -> dict[str, Schema]:
    """What components take that act, and of which there are two."""
    share = {"type": "string", "pattern": "^[0-9]+%$"}
    budget = _closed(enabled=BOOLEAN, minAvailable={"anyOf": [COUNT, share]})
    return {"shadow": BOOLEAN, "podDisruptionBudget": budget}


def _monitoring() -> Schema:
    return _closed(
        services=BOOLEAN,
        serviceMonitor=_closed(
            enabled=BOOLEAN, interval={"type": "string", "pattern": "^[0-9]+(ms|s|m)$"}, labels=LABELS
        ),
        rules=_closed(enabled=BOOLEAN, labels=LABELS),
        dashboards=_closed(enabled=BOOLEAN, labels=LABELS),
    )


def _telemetry() -> Schema:
    name = {"type": "string", "pattern": "^OTEL_[A-Z_]+$"}
    variable = {"type": "object", "required": ["name"], "properties": {"name": name}}
    return _closed(
        endpoint={"type": "string", "pattern": "^(https?://.+)?$"},
        ratio={"type": "number", "minimum": 0, "maximum": 1},
        variables={"type": "array", "items": variable},
    )


def _webhook() -> Schema:
    certificate = _closed(
        source={"enum": ["own", "cert-manager", "given"]},
        issuer=ANYTHING,
        secretName=TEXT,
        caBundle={"type": "string", "contentEncoding": "base64"},
    )
    policy = _closed(enabled=BOOLEAN, controlPlane=TEXTS, exceptPods=TEXTS)
    parts = {**_component(), **_writing(), "networkPolicy": policy}
    return _closed(
        **parts,
        excludedNamespaces=TEXTS,
        failurePolicy={"enum": ["Ignore", "Fail"]},
        certificate=certificate,
    )


def _scheduler() -> Schema:
    return _closed(
        **_component(),
        **_writing(),
        name={"type": "string", "pattern": LEASE_NAME},
        selfCheckSeconds={"type": "number", "minimum": 0},
        flowControl=_closed(enabled=BOOLEAN),
    )
