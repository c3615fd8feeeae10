"""Errors in words that say what to do: the right that is missing, the version that is there."""

import logging
from dataclasses import replace

import pytest

from fairlead.kube.errors import ApiError
from fairlead.kube.resources import PODS, TIER_LEDGERS
from fairlead.kube.watch import Reflector
from tests.fake import FakeApi
from tests.kube.test_watch import running
from tests.kube.things import client, counting, until

USER = 'User "system:serviceaccount:fairlead-system:fairlead-scheduler"'


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        (
            f'pods is forbidden: {USER} cannot list resource "pods" in API group "" at the cluster scope',
            'a ClusterRole needs the rule {apiGroups: [""], resources: [pods], verbs: [list]}',
        ),
        (
            f'leases "x" is forbidden: {USER} cannot update resource "leases" in API group "coordination.k8s.io" '
            'in the namespace "fairlead-system"',
            'a Role in fairlead-system needs the rule {apiGroups: ["coordination.k8s.io"], resources: [leases], '
            "verbs: [update]}",
        ),
        (
            f'x is forbidden: {USER} cannot create resource "pods/eviction" in API group "" in the namespace "shop"',
            'a Role in shop needs the rule {apiGroups: [""], resources: [pods/eviction], verbs: [create]}',
        ),
    ],
)
def test_missing_right_is_named_with_the_rule_to_add(message: str, rule: str) -> None:
    """As the API server words it; `message` stays as it came."""
    error = ApiError(403, "Forbidden", message)
    assert str(error) == f"403 Forbidden: {message}; {rule}"
    assert error.message == message


@pytest.mark.parametrize(("status", "message"), [(403, "exceeded quota"), (409, "cannot list resource")])
def test_other_refusals_name_no_rule(status: int, message: str) -> None:
    """A quota is no missing right."""
    assert "needs the rule" not in str(ApiError(status, "Forbidden", message))


async def test_definition_of_another_version_is_named_and_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    """The watch says which versions the server has, and follows the kind as soon as its own is served."""
    other = replace(TIER_LEDGERS, version="v1")
    api = FakeApi(served=[PODS, other])
    follower = Reflector(client(api), TIER_LEDGERS, lambda change: None, sleep=counting(None))
    with caplog.at_level(logging.INFO):
        async with running(follower):
            await until(lambda: "not served in fairlead.io/v1alpha1; the server has fairlead.io/v1\n" in caplog.text)
            assert not follower.served
            api.serve(TIER_LEDGERS)
            await until(lambda: follower.served)
