"""What was found: a table in the terminal and a file that programs can read."""

import json
import os
import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

from rich.console import Console
from rich.table import Table

OUT = Path(__file__).parent / "out"

T = TypeVar("T")


class Report:
    """Collects the figures of one benchmark."""

    def __init__(self, name: str, title: str, scale: float, console: Console, machine: Mapping[str, Any]) -> None:
        self.name = name
        self.scale = scale
        self.rows: list[dict[str, Any]] = []
        self._title = title
        self._console = console
        self._machine = dict(machine)
        self._load_before = os.getloadavg()

    def progress(self, words: str) -> None:
        """Say what is being measured now."""
        self._console.print(f"[dim]{self.name}: {words}[/dim]")

    def add(self, **figures: Any) -> None:
        """Keep one row; all rows of a benchmark have the same columns."""
        self.rows.append(figures)

    def each(self, cases: Iterable[T]) -> list[T]:
        """Give all cases, or only the first where nothing but the machinery is tried."""
        return list(cases) if self.scale else list(cases)[:1]

    def target(self, side: Literal["≥", "≤"], wanted: float | None, figure: float) -> str:
        """Word what was wanted of a figure, and whether it is so. Only a whole benchmark can tell."""
        if wanted is None or self.scale < 1:
            return ""
        met = figure >= wanted if side == "≥" else figure <= wanted
        return f"{side} {shown(wanted)} {'met' if met else 'MISSED'}"

    def finish(self, out: Path) -> None:
        """Print the table and write the file."""
        self._console.print(f"[bold]{self._title}[/bold]")
        table = Table()
        for column, value in self.rows[0].items():
            table.add_column(column.replace("_", " "), justify="left" if isinstance(value, str) else "right")
        for row in self.rows:
            table.add_row(*(shown(value) for value in row.values()))
        self._console.print(table)
        load_after = os.getloadavg()
        words = f"load {self._load_before[0]:.1f} before and {load_after[0]:.1f} after, on {os.cpu_count()} cores"
        self._console.print(f"[dim]{words}: where others are at work, believe the ratios[/dim]\n")
        out.mkdir(parents=True, exist_ok=True)
        content = {
            "benchmark": self.name,
            "title": self._title,
            "scale": self.scale,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": self._machine | {"load_before": self._load_before, "load_after": load_after},
            "rows": self.rows,
        }
        (out / f"{self.name}.json").write_text(json.dumps(content, indent=1) + "\n")


def share(full: int, scale: float, of: int = 1) -> int:
    """Scale a number down, to a whole number of batches, and at least to one."""
    return max(1, round(full * scale / of)) * of


def shown(value: Any) -> str:
    """Write a figure as precisely as it is worth."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str("" if value is None else value)


def machine(postgres: str) -> dict[str, Any]:
    """Describe where the figures come from."""
    return {
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "postgresql": postgres,
    }
