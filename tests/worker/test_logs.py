"""The log of a try: everything in its order, no secrets, not too much, and there while the task still runs."""

from pathlib import Path

import pytest

from bide.hosting.logs import LONGEST_CHUNK, LegLog
from bide.process.masking import Masker
from bide.store.records import NewChunk, append_log, read_log
from tests.process.eventually import eventually
from tests.worker.stage import Stage

TALKS = """
    import os, subprocess, sys
    from pathlib import Path
    from threading import Event

    def talks(leg, port):
        print("one")
        os.write(2, b"two\\n")
        sys.stderr.write("three\\n")
        subprocess.run(["echo", "five"])
        os.write(1, b"six \\xff\\xfe \\x00 \\xe2\\x82")
        os.write(1, b"\\xac seven")

    def talks_on(leg, port):
        print("begun")
        while not Path({folder!r}, "go").exists():
            Event().wait(0.02)
        print("over")

    def floods(leg, port):
        print("the beginning")
        for _ in range(1600):
            os.write(1, b"x" * 65535 + b"\\n")
        print("the end")
"""


def source(stage: Stage) -> str:
    return TALKS.format(folder=str(stage.folder))


async def test_everything_that_a_task_writes_is_there_in_its_order(stage: Stage) -> None:
    async with stage.working():
        await stage.launch(source(stage), "talks")
        await stage.reaches("talks", "success")
    lines = (await stage.log("talks")).splitlines()
    assert lines == ["one", "two", "three", "five", "six \ufffd\ufffd \ufffd € seven"]


async def test_a_log_can_be_read_on_while_the_task_runs(stage: Stage) -> None:
    async with stage.working():
        ids = await stage.launch(source(stage), "talks_on")

        async def has_begun() -> bool:
            return await stage.log("talks_on") == "begun\n"

        await eventually(has_begun)
        assert await stage.state("talks_on") == "running"
        (first,) = await read_log(stage.db, ids["talks_on"], 1)
        (stage.folder / "go").touch()
        await stage.reaches("talks_on", "success")
        (second,) = await read_log(stage.db, ids["talks_on"], 1, after=first.number)
    assert (first.text, second.text) == ("begun\n", "over\n")


async def test_a_flood_is_cut_in_the_middle_and_holds_nobody_up(stage: Stage, tmp_path: Path) -> None:
    async with stage.working(log_limit_kb=400):
        await stage.launch(source(stage), "floods", "talks")
        await stage.ends("floods", "talks")
        assert await stage.state("floods") == "success"
        assert "seven" in await stage.log("talks")
    log = await stage.log("floods")
    assert log.startswith("the beginning\nxxx")
    assert log.endswith("xxx\nthe end\n")
    assert len(log) < 401 * 1024
    # 1600 times 64 KB, the beginning and the end, less what is kept.
    assert f"{1600 * 65536 + 22 - 400 * 1024:,} bytes were left out here" in log


async def test_the_limit_is_that_of_the_try_and_not_of_each_leg(stage: Stage) -> None:
    async with stage.working(log_limit_kb=16):
        again = """
            from datetime import timedelta
            from bide.model.outcome import Rescheduled

            def looks(leg, port):
                print(leg.leg, "x" * 10_000)
                return Rescheduled(after=timedelta(hours=1)) if leg.leg < 3 else None
        """
        await stage.launch(again, "looks")
        for _ in range(2):
            await stage.reaches("looks", "up_for_reschedule")
            await stage.wake("looks")
        await stage.reaches("looks", "success")
    log = await stage.log("looks")
    # The first leg, then what is left for the beginning, then of each leg the end.
    assert log.count("left out") == 2
    assert len(log) < 10_000 + 2_300 + 2 * 4_300
    assert {chunk.leg for chunk in await read_log(stage.db, stage.ids["looks"], 1)} == {1, 2, 3}


async def test_pieces_keep_the_order_in_which_they_were_given(stage: Stage) -> None:
    texts = [f"{number}\n" for number in range(300)]
    await append_log(stage.db, [NewChunk(1, 1, 1, text) for text in texts])
    await append_log(stage.db, [NewChunk(1, 2, 1, "another try")])
    assert [chunk.text for chunk in await read_log(stage.db, 1, 1)] == texts
    assert [chunk.text for chunk in await read_log(stage.db, 1, 1, limit=2)] == texts[:2]


def text_of(log: LegLog) -> str:
    return "".join(chunk.text for chunk in log.taken())


def test_a_secret_is_masked_also_when_it_comes_in_pieces() -> None:
    masker = Masker()
    log = LegLog(1, 1, 1, 100, masker)
    masker.learn("hunter2!", "other secret")
    log.write(b"before hun")
    assert text_of(log) == "before "
    log.write(b"ter2! after, and hunt")
    assert text_of(log) == "*** after, and "
    log.write(b"ing ot")
    log.end()
    assert text_of(log) == "hunting ot"


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_any_pieces_of_a_stream_make_the_same_log(cut: int) -> None:
    stream = "Grüße, 漢字, pass\u00e9 word\n".encode() * 3
    masker = Masker()
    masker.learn("passé")
    log = LegLog(1, 1, 1, 100, masker)
    for at in range(0, len(stream), cut):
        log.write(stream[at : at + cut])
    log.end()
    assert text_of(log) == "Grüße, 漢字, *** word\n" * 3


def test_the_beginning_and_the_end_of_a_long_log_are_kept() -> None:
    log = LegLog(1, 1, 1, 16, Masker())
    for number in range(10_000):
        log.write(f"{number:05}é\n".encode())
    log.end()
    text = text_of(log)
    assert text.startswith("00000é\n00001é\n")
    assert text.endswith("09998é\n09999é\n")
    beginning, middle, end = text.partition("\n… ")[0], text.split("…")[1], text.rpartition("…")[2]
    assert len(beginning.encode()) in range(12 * 1024 - 2, 12 * 1024 + 1)
    assert len(end.encode()) in range(4 * 1024 - 2, 4 * 1024 + 2)
    assert f"{10_000 * 8 - len(beginning.encode()) - len(end.encode()) + 1:,} bytes were left out here" in middle


def test_a_long_text_is_stored_in_pieces() -> None:
    log = LegLog(1, 1, 1, 1000, Masker())
    log.write(b"x" * (2 * LONGEST_CHUNK + 1))
    assert [len(chunk.text) for chunk in log.taken()] == [LONGEST_CHUNK, LONGEST_CHUNK, 1]
    assert log.taken() == []
