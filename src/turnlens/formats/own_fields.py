"""Fields that a company or an application adds to its conversations, such as a branch: each becomes a label.

Sources: the ``custom_attributes`` of https://developers.intercom.com/docs/references/rest-api/api.intercom.io/conversations/conversation,
the ``custom_fields`` of https://developer.zendesk.com/api-reference/ticketing/tickets/tickets/ (a list, mostly of ids
without names) and of https://developers.freshdesk.com/api/#tickets (an object).
"""

from __future__ import annotations

from typing import Any

PLACES = ("custom_attributes", "custom_fields")


def own_labels(fields: Any) -> dict[str, Any]:
    """Return the texts, numbers and booleans of ``{name: value}`` or ``[{"id", "name"?, "value"}]`` as labels.

    Fields that are not filled, or hold lists or objects, are left out.

    >>> own_labels({"Branch": "Mill Lane", "Order": {"type": "order.list"}, "Paid": None})
    {'Branch': 'Mill Lane'}
    >>> own_labels([{"id": 27642, "value": "745"}, {"id": 5, "name": "Pets", "value": 2}])
    {'custom_field_27642': '745', 'Pets': 2}
    """
    if isinstance(fields, list):
        fields = {_name(field): field.get("value") for field in fields if isinstance(field, dict)}
    named = fields.items() if isinstance(fields, dict) else ()
    return {name: value for name, value in named if isinstance(value, str | int | float) and value != ""}


def _name(field: dict[str, Any]) -> str:
    return str(field.get("name") or field.get("title") or f"custom_field_{field.get('id')}")
