"""An outlook and the advice as a record: what `/report` and `fairlead storage --once` show."""

from typing import Any

from fairlead.dataclass import dataclass
from fairlead.engine.records_disk import imbalance_record, move_record, outcome_record, placement_record
from fairlead.levels.disk.rebalance import Rebalance
from fairlead.live.storage.decide import Outlook
from fairlead.model.errors import InputError
from fairlead.model.order import natural_key

LEFT = "LeftToLonghorn"
"""The reason of a replica that is not placed here because Longhorn's own rules for it need other objects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One look at the cluster. `missing` names the kinds that the server does not serve."""

    outlook: Outlook
    advice: Rebalance
    missing: tuple[str, ...] = ()
    unreadable: tuple[InputError, ...] = ()

    def record(self) -> dict[str, Any]:
        """The report as JSON values."""
        outlook, advice = self.outlook, self.advice
        stored = outlook.storage
        errors = (*self.unreadable, *stored.errors)
        return {
            "nodes": len(stored.disks.nodes),
            "disks": len(stored.disks),
            "volumes": len(stored.volumes),
            "imbalance": imbalance_record(advice),
            "placeable": [placement_record(each, by_volume=True) for each in self._placeable()],
            "unscheduled": self._unscheduled(),
            "inFlight": list(stored.in_flight),
            "moves": [move_record(each, advice.disks) for each in advice.moves],
            "notServed": list(self.missing),
            "errors": [{"path": each.path, "message": each.message} for each in errors],
        }

    @property
    def lacking(self) -> bool:
        """Whether a replica has no disk and gets none."""
        return bool(self.outlook.unscheduled or self.outlook.foreign)

    def _placeable(self) -> list[Any]:
        return [*self.outlook.made.placed, *self.outlook.unmade.placed]

    def _unscheduled(self) -> list[dict[str, Any]]:
        found = [{**outcome_record(each.outcome), "note": each.note} for each in self.outlook.short]
        for name, why in self.outlook.foreign.items():
            found.append({"volume": name, "reason": LEFT, "message": why, "cure": "nothing"})
        return sorted(found, key=lambda each: natural_key(each["volume"]))
