"""The namespaces that the API server asks the webhook about: those that its configuration selects."""

from fairlead.kube.client import Client
from fairlead.kube.codec.shapes import selector
from fairlead.kube.errors import ApiError
from fairlead.kube.objects.tier import WebhookConfiguration
from fairlead.kube.resources import MUTATING_WEBHOOKS, NAMESPACES


async def served_namespaces(client: Client, configuration: str) -> frozenset[str]:
    """Their names; none where the configuration does not exist, for then the webhook is not asked."""
    try:
        found = await client.get(MUTATING_WEBHOOKS.of(WebhookConfiguration), configuration)
    except ApiError as error:
        if not error.not_found:
            raise
        return frozenset()
    selectors = [selected for each in found.webhooks if (selected := selector(each.namespace_selector)) is not None]
    namespaces = [each.metadata for each in (await client.list(NAMESPACES)).items]
    return frozenset(each.name for each in namespaces if any(selected.selects(each.labels) for selected in selectors))
