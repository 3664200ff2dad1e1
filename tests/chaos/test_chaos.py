"""A short spell of chaos; `make chaos` has longer ones."""

from pathlib import Path

from tests.chaos.run import chaos
from tests.process.conftest import copy_folder
from tests.system.power import power

SECONDS = 5
SEED = 1


async def test_after_a_short_spell_of_chaos_nothing_is_wrong_and_nothing_is_stuck(
    knowing_server: Path, tmp_path: Path
) -> None:
    copy_folder(knowing_server, tmp_path / "server")
    with power(tmp_path / "server") as switch:
        report = await chaos(switch, tmp_path, SECONDS, SEED)
    assert report.violation is None
    assert report.monkey.total() > 2
    assert report.runs.total() > 2
