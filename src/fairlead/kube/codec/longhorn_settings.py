"""Longhorn's settings that decide where replicas go, with Longhorn's own defaults."""

from collections.abc import Iterable

import msgspec

from fairlead.kube.objects.longhorn import LonghornSetting, LonghornVolume
from fairlead.model.balancing import BalancePolicy
from fairlead.model.errors import InputError
from fairlead.model.storage import AntiAffinity, Strictness

DEFAULTS = {
    "replica-soft-anti-affinity": "false",
    "replica-zone-soft-anti-affinity": "true",
    "replica-disk-soft-anti-affinity": "true",
    "storage-over-provisioning-percentage": "100",
    "storage-minimal-available-percentage": "25",
    "allow-empty-node-selector-volume": "true",
    "allow-empty-disk-selector-volume": "true",
    "replica-replenishment-wait-interval": "600",
}


class Settings:
    """The settings as typed values; what cannot be read is added to `errors` and counts as not set."""

    def __init__(self, objects: Iterable[LonghornSetting], errors: list[InputError]) -> None:
        self._given = {each.metadata.name: each.value for each in objects if each.metadata.name in DEFAULTS}
        self._errors = errors
        self._soft = {
            "zone": self._flag("replica-zone-soft-anti-affinity"),
            "node": self._flag("replica-soft-anti-affinity"),
            "disk": self._flag("replica-disk-soft-anti-affinity"),
        }
        self.wait_seconds = self._number("replica-replenishment-wait-interval")

    def policy(self) -> BalancePolicy:
        """The settings as a policy of the disk level."""
        return BalancePolicy(
            anti_affinity=_apart(self._soft),
            empty_node_selector=self._flag("allow-empty-node-selector-volume"),
            empty_disk_selector=self._flag("allow-empty-disk-selector-volume"),
            over_percent=self._number("storage-over-provisioning-percentage"),
            minimal_percent=min(self._number("storage-minimal-available-percentage"), 100),
        )

    def anti_affinity(self, volume: LonghornVolume) -> AntiAffinity:
        """The settings with a volume's own choices (`enabled` is soft, `disabled` is hard) in their place."""
        own = {
            "zone": volume.spec.replica_zone_soft_anti_affinity,
            "node": volume.spec.replica_soft_anti_affinity,
            "disk": volume.spec.replica_disk_soft_anti_affinity,
        }
        return _apart(
            {
                level: own[level] == "enabled" or (soft and own[level] != "disabled")
                for level, soft in self._soft.items()
            }
        )

    def _flag(self, name: str) -> bool:
        text = self._text(name)
        if text not in ("true", "false"):
            self._bad(name, text, "true or false")
            text = DEFAULTS[name]
        return text == "true"

    def _number(self, name: str) -> int:
        text = self._text(name)
        if not text.isdecimal() or len(text) > 9:
            self._bad(name, text, "a whole number")
            text = DEFAULTS[name]
        return int(text)

    def _text(self, name: str) -> str:
        """The value as text; newer versions write one value for each data engine, and the first engine's counts."""
        value = self._given.get(name, "").strip()
        if value.startswith("{"):
            try:
                value = str(msgspec.json.decode(value, type=dict[str, str | int | bool]).get("v1", "")).lower()
            except msgspec.MsgspecError:
                return value
        return value or DEFAULTS[name]

    def _bad(self, name: str, value: str, expected: str) -> None:
        default = DEFAULTS[name]
        self._errors.append(InputError(f"Setting {name}", f"{value!r} is not {expected}; {default} is used"))


def _apart(soft: dict[str, bool]) -> AntiAffinity:
    """Hard where not soft; what is hard for a zone is hard for its nodes, and for a node for its disks."""
    zone = not soft["zone"]
    node = zone or not soft["node"]
    disk = node or not soft["disk"]
    levels = {True: Strictness.HARD, False: Strictness.SOFT}
    return AntiAffinity(zone=levels[zone], node=levels[node], disk=levels[disk])
