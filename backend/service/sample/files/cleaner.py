"""Brings order exports into one form. See README.md.

usage: python3 cleaner.py INPUT.csv OUTPUT.csv
"""

import csv
import pathlib
import sys
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal

from schema import BY_NAME, FIELDS, BadValue


class BadFile(Exception):
    """A file that is refused as a whole."""


@dataclass
class Summary:
    """What happened to the rows of one file."""

    read: int = 0
    written: int = 0
    duplicates: int = 0
    total: Decimal = Decimal("0")
    left_out: list = field(default_factory=list)  # (line, reason)

    def months(self) -> list:
        return sorted(self.by_month.items())

    by_month: Counter = field(default_factory=Counter)


def check_header(names) -> None:
    """Refuses files with columns that nobody has described, or without needed ones."""
    names = [name.strip() for name in names or []]
    unknown = [name for name in names if name not in BY_NAME]
    if unknown:
        raise BadFile("unknown column: " + ", ".join(unknown))
    missing = [f.name for f in FIELDS if f.required and f.name not in names]
    if missing:
        raise BadFile("missing column: " + ", ".join(missing))


def clean_row(row: dict) -> dict:
    """Returns the row in form, or raises BadValue."""
    out = {}
    for f in FIELDS:
        value = row.get(f.name) or ""
        if not value.strip():
            if f.required:
                raise BadValue(f"{f.name} is empty")
            out[f.name] = f.default
            continue
        out[f.name] = f.clean(value)
    return out


def clean_rows(rows) -> tuple:
    """Returns the good rows and a Summary. Of rows with the same id the first counts."""
    summary, good, seen = Summary(), [], set()
    for line, row in enumerate(rows, start=2):
        summary.read += 1
        try:
            out = clean_row(row)
        except BadValue as problem:
            summary.left_out.append((line, str(problem)))
            continue
        if out["order_id"] in seen:
            summary.duplicates += 1
            continue
        seen.add(out["order_id"])
        good.append(out)
        summary.written += 1
        summary.total += Decimal(out["amount"])
        summary.by_month[out["date"][:7]] += 1
    return good, summary


def clean_file(source, target) -> Summary:
    with open(source, newline="", encoding="utf-8-sig") as f:
        reader = csv.DictReader(f)
        check_header(reader.fieldnames)
        good, summary = clean_rows(reader)
    target = pathlib.Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "w", newline="", encoding="utf-8") as f:
        writer = csv.DictWriter(f, fieldnames=[x.name for x in FIELDS], lineterminator="\n")
        writer.writeheader()
        writer.writerows(good)
    return summary


def report(summary: Summary) -> str:
    """Returns the summary as text for the terminal."""
    lines = [
        f"rows read      {summary.read}",
        f"rows written   {summary.written}",
        f"duplicates     {summary.duplicates}",
        f"left out       {len(summary.left_out)}",
        f"total amount   {summary.total:.2f}",
    ]
    for month, count in summary.months():
        lines.append(f"  {month}      {count}")
    for line, reason in summary.left_out:
        lines.append(f"line {line}: {reason}")
    return "\n".join(lines)


def main(argv) -> int:
    if len(argv) != 3:
        print(__doc__.strip().splitlines()[-1], file=sys.stderr)
        return 2
    try:
        summary = clean_file(argv[1], argv[2])
    except (BadFile, OSError) as problem:
        print(f"{argv[1]}: {problem}", file=sys.stderr)
        return 1
    print(report(summary))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
