"""What a cleaned order looks like: one Field for each column, in order."""

import datetime
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Callable


class BadValue(ValueError):
    """A value that cannot be read for certain."""


@dataclass(frozen=True)
class Field:
    """One column: its name and the function that brings a value into form."""

    name: str
    clean: Callable[[str], str]
    required: bool = True
    default: str = ""  # for a column that a file does not have


def clean_order_id(value: str) -> str:
    match = re.fullmatch(r"[aA]?\s*-?\s*(\d{1,5})", value.strip())
    if not match:
        raise BadValue(f"not an order id: {value!r}")
    return f"A-{int(match.group(1)):05d}"


DATE_FORMS = ("%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d", "%d %b %Y")


def clean_date(value: str) -> str:
    for form in DATE_FORMS:
        try:
            return datetime.datetime.strptime(value.strip(), form).date().isoformat()
        except ValueError:
            continue
    raise BadValue(f"not a date: {value!r}")


def clean_amount(value: str) -> str:
    text = re.sub(r"[€$£\s]|EUR|USD", "", value)
    if re.fullmatch(r"-?\d{1,3}(\.\d{3})*,\d{2}", text):  # 1.234,50
        text = text.replace(".", "").replace(",", ".")
    else:
        text = text.replace(",", "")  # 1,234.50
    try:
        amount = Decimal(text)
    except InvalidOperation:
        raise BadValue(f"not an amount: {value!r}") from None
    if not amount.is_finite() or amount <= 0:
        raise BadValue(f"not a positive amount: {value!r}")
    return f"{amount:.2f}"


def clean_text(value: str) -> str:
    return " ".join(value.split())


FIELDS = (
    Field("order_id", clean_order_id),
    Field("date", clean_date),
    Field("customer", clean_text),
    Field("amount", clean_amount),
    Field("note", clean_text, required=False),
)

BY_NAME = {field.name: field for field in FIELDS}
