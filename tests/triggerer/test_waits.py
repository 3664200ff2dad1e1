"""A wait's way through a triggerer: claimed, opened, run, and ended by the verb for what its trigger yields."""

import asyncio
import json

from bide.sealing import Sealer, generate_key, variable
from tests.process.eventually import eventually
from tests.triggerer.post import KEY, Post


async def test_d3_an_event_lets_the_task_go_on_with_its_payload(post: Post) -> None:
    numbers = await post.wait("Sleeps", {"seconds": 0.01}, {"seconds": 0.02})
    async with post.waiting():
        assert await post.ends(*numbers) == [{"slept": 0.01}, {"slept": 0.02}]
    row = await post.row(numbers[0])
    assert (row["state"], row["next_method"], row["leg"]) == ("scheduled", "go_on", 1)
    assert await post.connection.fetchval("select count(*) from trigger") == 0


async def test_d4_a_trigger_can_end_its_task_without_a_worker(post: Post) -> None:
    names = ("succeeds", "skips", "fails", "yields_twice")
    numbers = await post.wait("Does", *({"what": name} for name in names))
    async with post.waiting():
        ends = await post.ends(*numbers)
    assert ends[:2] == ["success", "skipped"]
    assert ends[2]["error"] == "it says so"
    assert ends[3] == "first"
    xcom = await post.connection.fetchval("select value from xcom where task_id = 'task_0' and key = 'return_value'")
    assert json.loads(xcom) == {"a": 1}


async def test_d3_what_a_trigger_writes_is_in_the_log_of_its_task_without_secrets(post: Post) -> None:
    for key, value in {"api_token": "tok-en-42", "plain": "shown"}.items():
        sealed = Sealer([KEY]).seal(value, variable(key))
        await post.connection.execute("insert into variable (key, sealed) values ($1, $2)", key, sealed)
    talks, asks = await post.wait("Does", {"what": "prints"}, {"what": "asks"})
    async with post.waiting():
        assert await post.ends(talks, asks) == ["printed", "shown"]
    log = await post.log(talks)
    for line in ("printed by task_0", "INFO     logged", "from a thread", "to standard error"):
        assert line in log
    assert "the token is ***" in await post.log(asks)


async def test_a_trigger_that_asks_without_awaiting_is_told_how_to(post: Post) -> None:
    (number,) = await post.wait("Does", {"what": "asks_and_blocks"})
    async with post.waiting():
        (end,) = await post.ends(number)
    assert "await Variable.aget" in end["error"]


async def test_libraries_that_look_at_tasks_find_what_they_expect(post: Post) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    (number,) = await post.wait("Does", {"what": "fetches", "url": url})
    async with post.waiting():
        assert await post.ends(number) == [["hello", "hello"]]
    server.close()


async def test_t3_a_triggerer_takes_only_waits_of_its_own_queues(post: Post) -> None:
    (none,) = await post.wait("Sleeps", {"seconds": 0}, queue=None)
    (mine,) = await post.wait("Sleeps", {"seconds": 0}, queue="mine")
    (theirs,) = await post.wait("Sleeps", {"seconds": 0}, queue="theirs")
    async with post.waiting(queues=("mine",)):
        await post.ends(mine)
    async with post.waiting():
        await post.ends(none)
    assert (await post.row(theirs))["state"] == "deferred"


async def test_t2_no_more_are_claimed_than_there_is_room_for(post: Post) -> None:
    numbers = await post.wait("Leaves", *[post.leaving] * 9)
    async with post.waiting(capacity=4):
        await post.are_held(4)
        assert max((await post.held()).values()) == 4
        post.go()
        assert len(await post.ends(*numbers)) == 9


async def test_t1_several_runners_share_the_waits(post: Post) -> None:
    numbers = await post.wait("Leaves", *[post.leaving] * 8)
    async with post.waiting(runners=2):
        await post.are_held(8)
        post.go()
        pids = await post.ends(*numbers)
    assert sorted(pids.count(pid) for pid in set(pids)) == [4, 4]


async def test_d12_one_run_serves_all_tasks_that_wait_for_the_same_and_each_goes_on_once(post: Post) -> None:
    numbers = await post.wait("Shared", *({"seconds": 0.1} for _ in range(20)), shared_key="the same")
    assert await post.connection.fetchval("select count(*) from trigger") == 1
    async with post.waiting():
        assert await post.ends(*numbers) == [{"slept": 0.1}] * 20
    assert await post.history("claim") == [("claim", None)]
    assert len(await post.history("fire")) == 20


async def test_d7_what_cannot_be_opened_is_put_aside_and_never_run_until_the_key_is_back(post: Post) -> None:
    other = generate_key()
    (lost,) = await post.wait("Leaves", post.leaving, key=other)
    (moved, forged) = await post.wait("Leaves", post.leaving, post.leaving)
    await post.connection.execute(
        "update trigger w set kwargs = o.kwargs from trigger o where w.id = $1 and o.id = $2", moved, forged
    )
    await post.connection.execute(f"update trigger set classpath = 'os.system' where id = {forged}")

    async def reasons() -> list[str]:
        rows = await post.connection.fetch("select parked_why from trigger where parked_until is not null order by id")
        return [row["parked_why"].partition(":")[0] for row in rows]

    async def all_parked() -> bool:
        return await reasons() == ["cannot decrypt"] * 3

    async with post.waiting():
        await eventually(all_parked)
    assert post.diary() == []
    post.keys = (KEY, other)
    await post.connection.execute("update trigger set parked_until = null where id = $1", lost)
    async with post.waiting():
        await eventually(post.diary)
    assert await reasons() == ["cannot decrypt"] * 2
