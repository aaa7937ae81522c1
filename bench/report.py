"""Tables of rows and goals, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.figures import shown

Cell = str | float | int | None
Row = dict[str, Cell]


@dataclass(frozen=True)
class Goal:
    """A promise beside what was measured. `at_least` goals are floors, the others ceilings."""

    promise: str
    limit: float
    measured: float | None
    unit: str
    at_least: bool = False

    @property
    def ratio(self) -> float | None:
        """Measured over limit."""
        return None if self.measured is None or not self.limit else self.measured / self.limit

    @property
    def verdict(self) -> str:
        """`met`, `missed`, or `not measured`."""
        if self.measured is None:
            return "not measured"
        met = self.measured >= self.limit if self.at_least else self.measured <= self.limit
        return "met" if met else "MISSED"

    def row(self) -> Row:
        """The goal as a line of a table."""
        sign = "≥" if self.at_least else "≤"
        limit = f"{sign} {shown(self.limit)} {self.unit}"
        numbers: Row = {"limit": limit, "measured": self.measured, "× limit": self.ratio}
        return {"goal": self.promise, **numbers, "": self.verdict}


@dataclass
class Table:
    """One scenario's outcome."""

    name: str
    title: str
    rows: list[Row] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The table, its goals and its notes, in plain text."""
        parts = [f"== {self.name}: {self.title}", ""]
        if self.rows:
            parts += grid(self.rows)
        if self.goals:
            parts += ["", *grid([goal.row() for goal in self.goals])]
        parts += [f"  * {note}" for note in self.notes]
        return "\n".join(parts) + "\n"

    def as_json(self) -> dict[str, object]:
        """The same for programs."""
        goals = [
            {"promise": g.promise, "limit": g.limit, "measured": g.measured, "unit": g.unit, "verdict": g.verdict}
            for g in self.goals
        ]
        return {"name": self.name, "title": self.title, "rows": self.rows, "goals": goals, "notes": self.notes}


def grid(rows: Sequence[Row]) -> list[str]:
    """Aligned lines: numbers to the right, texts to the left; columns in the order of first appearance."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[shown(row.get(name)) for name in columns] for row in rows]
    numeric = [all(not isinstance(row.get(name), str) for row in rows) for name in columns]
    widths = [max([len(name), *(len(line[at]) for line in cells)]) for at, name in enumerate(columns)]

    def line(texts: Sequence[str]) -> str:
        padded = [t.rjust(w) if right else t.ljust(w) for t, w, right in zip(texts, widths, numeric, strict=True)]
        return "  " + "  ".join(padded).rstrip()

    return [line(columns), line(["-" * width for width in widths]), *(line(texts) for texts in cells)]
