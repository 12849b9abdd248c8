"""Labels that hold names of people, which no pattern finds in a text."""

from __future__ import annotations

import re
from collections.abc import Collection

from turnlens.formats.column_names import plain_name

_PEOPLE = (
    "name agent user author sender speaker requester assignee owner contact customer client caller operator employee "
    "participant person member staff representative rep manager nickname username firstname lastname surname"
)
# Labels about people that are not names, or names of things.
_NO_PEOPLE = (
    "id type role status state tier segment count number language country city region date time email phone rating "
    "reason product file company brand campaign model event team queue group channel domain intent topic service plan"
)
_ROLES = "agent customer user assistant bot system admin operator client visitor unknown none yes no"
_NAME = re.compile(r"(?=[^\W\d_])[^\W\d_a-zß-öø-ÿ][^\W\d_]*[.'’-]?(?:[ '’.-]{1,2}[^\W\d_][^\W\d_'’.-]*){0,4}\.?")
_SHARE = 0.6


def holds_names(label: str, values: Collection[str]) -> bool:
    """Whether a label's name says that it is about people, and most of its values are written like names."""
    words = set(plain_name(label).split("_"))
    if not words & set(_PEOPLE.split()) or words & set(_NO_PEOPLE.split()) or not values:
        return False
    roles = _ROLES.split()
    names = [value for value in values if _NAME.fullmatch(value) and value.lower() not in roles]
    return len(names) >= _SHARE * len(values)
