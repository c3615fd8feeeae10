"""Which resource, object and subresource a path means."""

from dataclasses import dataclass
from urllib.parse import unquote


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """`where` names the collection: root and plural."""

    root: str
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def where(self) -> str:
        return f"{self.root}/{self.plural}"

    @property
    def key(self) -> tuple[str, str]:
        return (self.namespace, self.name)


def parse(path: str) -> Route | None:
    """The route of a path, None where no API server would know it."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if parts[0] == "api" and len(parts) >= 2:
        root, rest = f"/api/{parts[1]}", parts[2:]
    elif parts[0] == "apis" and len(parts) >= 3:
        root, rest = f"/apis/{parts[1]}/{parts[2]}", parts[3:]
    else:
        return None
    namespace = ""
    if len(rest) >= 3 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3:
        return None
    plural, name, subresource = [*rest, "", "", ""][:3]
    return Route(root=root, plural=plural, namespace=namespace, name=name, subresource=subresource)
