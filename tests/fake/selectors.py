"""Label and field selectors in the text form of the API's query parameters."""

import re
from collections.abc import Mapping
from typing import Any

_SET = re.compile(r"^\s*(\S+)\s+(in|notin)\s+\(([^)]*)\)\s*$")
_COMMA = re.compile(r",(?![^(]*\))")


def matches(found: Mapping[str, Any], labels: str, fields: str) -> bool:
    own = found.get("metadata", {}).get("labels") or {}
    return all(_label(own, term) for term in _terms(labels)) and all(_field(found, t) for t in _terms(fields))


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """A label selector in its object form, as a disruption budget holds it; None selects nothing."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_expression(each, labels) for each in selector.get("matchExpressions") or ())


def _expression(each: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = each["key"], each.get("values") or ()
    return {
        "In": labels.get(key) in values,
        "NotIn": labels.get(key) not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }[each["operator"]]


def _terms(text: str) -> list[str]:
    return [term.strip() for term in _COMMA.split(text) if term.strip()]


def _label(labels: Mapping[str, str], term: str) -> bool:
    if found := _SET.match(term):
        values = {value.strip() for value in found[3].split(",")}
        return (labels.get(found[1]) in values) == (found[2] == "in")
    key, sign, value = _split(term)
    if sign:
        return (labels.get(key) == value) == (sign == "=")
    return (key[1:] not in labels) if key.startswith("!") else key in labels


def _field(found: Mapping[str, Any], term: str) -> bool:
    path, sign, value = _split(term)
    here: Any = found
    for part in path.split("."):
        here = here.get(part) if isinstance(here, Mapping) else None
    text = "" if here is None else str(here).lower() if isinstance(here, bool) else str(here)
    return (text == value) == (sign == "=")


def _split(term: str) -> tuple[str, str, str]:
    for sign, meaning in (("!=", "!="), ("==", "="), ("=", "=")):
        key, found, value = term.partition(sign)
        if found:
            return key.strip(), meaning, value.strip()
    return term, "", ""
