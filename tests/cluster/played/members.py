"""Member clusters: an API server (or a namespace of one) each, with the objects that were propagated to it."""

from contextlib import suppress

from tools.controlplane.api import Api, ApiError


class Member:
    """Propagated objects are ConfigMaps here, under the binding's name, with their replicas.

    `down`: it is not reached, neither by the controllers nor by the look at its health; what it has stays.
    """

    def __init__(self, name: str, api: Api, namespace: str) -> None:
        self.name = name
        self.down = False
        self._api = api
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"
        api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})

    def objects(self) -> dict[str, tuple[str, int]]:
        """Uid and replicas of each."""
        found = self._api.items(self._path, labelSelector="played=yes")
        return {each["metadata"]["name"]: (each["metadata"]["uid"], int(each["data"]["replicas"])) for each in found}

    def apply(self, name: str, replicas: int) -> None:
        data = {"replicas": str(replicas)}
        body = {"metadata": {"name": name, "labels": {"played": "yes"}}, "data": data}
        try:
            self._api.patch(f"{self._path}/{name}", {"data": data})
        except ApiError as error:
            if error.status != 404:
                raise
            with suppress(ApiError):
                self._api.create(self._path, body)

    def delete(self, name: str) -> None:
        with suppress(ApiError):
            self._api.delete(f"{self._path}/{name}")
