"""karmada-webhook as far as quotas go: it refuses clusters of bindings that ask for more than a quota allows."""

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tools.controlplane.api import Api

from tests.kube.authority import Authority

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


class Quota:
    """At most `replicas` over all clusters of a binding. The refusal is worded as karmada-webhook words it."""

    def __init__(self, namespace: str, replicas: int) -> None:
        self.namespace = namespace
        self.replicas = replicas
        self.refused = 0

    def review(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one AdmissionReview."""
        clusters = request["object"]["spec"].get("clusters") or []
        asked = sum(each.get("replicas", 0) for each in clusters)
        if asked <= self.replicas:
            return {"uid": request["uid"], "allowed": True}
        self.refused += 1
        where = f"FederatedResourceQuota({self.namespace}/q)"
        message = f"{where} exceeded for resource cpu: requested sum {asked}, limit {self.replicas}."
        return {"uid": request["uid"], "allowed": False, "status": {"code": 403, "message": message}}


@contextmanager
def enforced(api: Api, quota: Quota, folder: Path) -> Iterator[None]:
    """The webhook in force for the namespace of the quota."""
    authority = Authority()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(quota))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = authority.issue("webhook", "127.0.0.1")
    certificate = folder / "webhook.pem"
    certificate.write_text(pair.certificate + pair.key)
    tls.load_cert_chain(certificate)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    name = f"quota-{quota.namespace}"
    api.create(CONFIGURATIONS, _configuration(name, quota.namespace, server.server_port, authority.pem))
    try:
        yield
    finally:
        api.delete(f"{CONFIGURATIONS}/{name}")
        server.shutdown()
        server.server_close()
        thread.join(10)


def _handler(quota: Quota) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            given = json.loads(self.rfile.read(int(self.headers["content-length"])))
            review = {key: given[key] for key in ("apiVersion", "kind")} | {"response": quota.review(given["request"])}
            body = json.dumps(review).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *said: object) -> None:
            """Say nothing."""

    return Handler


def _configuration(name: str, namespace: str, port: int, authority: str) -> dict[str, Any]:
    rule = {
        "apiGroups": ["work.karmada.io"],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["resourcebindings"],
    }
    client = {"url": f"https://127.0.0.1:{port}/", "caBundle": base64.b64encode(authority.encode()).decode()}
    webhook = {
        "name": "resourcebinding.karmada.io",
        "rules": [rule],
        "clientConfig": client,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
    }
    return {"metadata": {"name": name}, "webhooks": [webhook]}
