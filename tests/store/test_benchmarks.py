"""The benchmarks still run, on so few rows that their figures mean nothing."""

import io
import json
import math
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.__main__ import BENCHMARKS, run

HARDLY_ANY = 0.0


# They start services, which takes too long for a test.
SLOW = {"events", "first", "flow", "legs", "moments", "parsing", "resting", "timers"}


@pytest.mark.parametrize("name", sorted(BENCHMARKS.keys() - SLOW))
async def test_a_benchmark_prints_its_table_and_writes_its_file(server_url: str, tmp_path: Path, name: str) -> None:
    printed = io.StringIO()
    await run(server_url, [name], HARDLY_ANY, Console(file=printed, width=200), tmp_path)
    written = json.loads((tmp_path / f"{name}.json").read_text())
    figures = [value for row in written["rows"] for value in row.values() if isinstance(value, float)]
    assert BENCHMARKS[name].TITLE in printed.getvalue()
    assert written["benchmark"] == name
    assert figures
    assert all(map(math.isfinite, figures))
