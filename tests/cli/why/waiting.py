"""Tasks that are at work, or wait."""

from datetime import timedelta

from bide.model.outcome import Failed, Rescheduled
from bide.model.retry import RetryPolicy
from bide.store import holding, legs
from bide.store.holding import Parked
from bide.store.rows import Leg
from tests.cli.waits import TIMER, begin, claimed, defer, triggerer
from tests.cli.why.cases import MINUTE, SECOND, S, case, launched, scheduler, waiting, worker
from tests.scheduler.town import WHO, Town, task


@case(S.QUEUED, "queue unserved", "It is queued for 30s in 'gpu', which no living worker serves: start one with")
async def _(town: Town) -> str:
    await launched(town, task("a", queue="gpu"))
    await town.rounds.go()
    await town.pass_time(30 * SECOND)
    return "a"


@case(
    S.QUEUED,
    "workers full",
    "and every worker that serves this queue is full: N on here (1 of 1); one takes it",
)
async def _(town: Town) -> str:
    await launched(town, task("a"), task("b", "a", queue="gpu"), task("c"))
    await begin(town)
    number = await worker(town, "gpu", capacity=1)
    await town.connection.execute("update task_instance set worker_id = $1 where task_id = 'c'", number)
    rows = await town.connection.fetchrow("select id, leg from task_instance where task_id = 'a'")
    await legs.succeed(town.db, WHO, [Leg(rows["id"], rows["leg"])])
    await town.rounds.go()
    return "b"


@case(
    S.QUEUED, "queued", "It is queued for 0ms in 'gpu', which 1 living worker serves: it is taken as soon as one looks."
)
async def _(town: Town) -> str:
    await launched(town, task("a", queue="gpu"))
    await town.rounds.go()
    await worker(town, "gpu")
    return "a"


@case(
    S.RUNNING,
    "running",
    "It runs on the worker N on town since 2030-01-01 12:00:00Z, for 30s, try 1 of 1; its execution_timeout is at "
    "2030-01-01 12:01:00Z. `bide tasks logs d run a -f` shows what it does.",
)
async def _(town: Town) -> str:
    await launched(town, task("a", execution_timeout=MINUTE))
    await begin(town)
    await town.pass_time(30 * SECOND)
    return "a"


@case(
    S.RUNNING,
    "worker silent",
    "Its worker N on here has been silent for 20s: the worker is given up, and the task tries",
)
async def _(town: Town) -> str:
    await launched(town, task("a"))
    await begin(town)
    await town.connection.execute("update task_instance set worker_id = $1", await worker(town, "default"))
    await town.pass_time(20 * SECOND)
    await scheduler(town)
    return "a"


@case(
    S.SHUTDOWN,
    "worker leaves",
    "Its worker N on town leaves and stops it; then it runs elsewhere, and that costs no try",
)
async def _(town: Town) -> str:
    await launched(town, task("a"))
    started = (await begin(town))["a"]
    await legs.drain(town.db, WHO, [Leg(started.id, started.leg)])
    await scheduler(town)
    return "a"


@case(
    S.DEFERRED,
    "overdue",
    "It has waited for waits.HttpTrigger for 1m 1s; its timeout passed 1m ago, and it fails when there is a scheduler "
    "again, but no scheduler is alive: start `bide up`, or `bide scheduler` alone.",
)
async def _(town: Town) -> str:
    await waiting(town, timeout=SECOND)
    await town.pass_time(61 * SECOND)
    return "a"


@case(S.DEFERRED, "timer", "It sleeps until 2030-01-01 15:00:00Z; a scheduler wakes it then, no triggerer is needed.")
async def _(town: Town) -> str:
    await waiting(town, **TIMER)
    await scheduler(town)
    return "a"


@case(S.DEFERRED, "timer", "Its date, 2030-01-01 15:00:00Z, has come: it goes on when there is a scheduler again")
async def _(town: Town) -> str:
    await waiting(town, **TIMER)
    await town.pass_time(timedelta(hours=3))
    return "a"


@case(
    S.DEFERRED,
    "parked",
    "It has waited for waits.HttpTrigger for 0ms, but it is put aside: no such key; it is tried again at 2030-01-01 "
    "12:01:00Z, and goes on once the key or the code is there; it times out at 2030-01-01 12:30:00Z.",
)
async def _(town: Town) -> str:
    number = await waiting(town, timeout=30 * MINUTE)
    await claimed(town)
    await holding.park(town.db, WHO, [Parked(number, 1, "no such key", MINUTE)])
    return "a"


@case(
    S.DEFERRED,
    "held",
    "It has waited for waits.HttpTrigger for 3.0s; triggerer N on here watches for it (heartbeat 3.0s ago), and it "
    "goes on when that has come, at 2030-01-01 12:30:00Z at the latest.",
)
async def _(town: Town) -> str:
    await waiting(town, timeout=30 * MINUTE)
    await claimed(town)
    await town.pass_time(3 * SECOND)
    return "a"


@case(
    S.DEFERRED,
    "triggerer silent",
    "It has waited for waits.HttpTrigger for 20s; triggerer N on here has been silent for 20s: others may take it at "
    "the scheduler's next look; no other triggerer is alive that serves its queue: start one.",
)
async def _(town: Town) -> str:
    await waiting(town)
    await claimed(town)
    await town.pass_time(20 * SECOND)
    await scheduler(town)
    return "a"


@case(
    S.DEFERRED,
    "no triggerer",
    "It has waited for waits.HttpTrigger for 0ms, and no triggerer is alive: start `bide up`",
)
async def _(town: Town) -> str:
    await waiting(town)
    return "a"


@case(
    S.DEFERRED,
    "queue unserved",
    "It has waited for waits.HttpTrigger for 0ms in the queue 'gpu', which no living triggerer",
)
async def _(town: Town) -> str:
    await waiting(town, queue="gpu")
    await triggerer(town)
    return "a"


@case(S.DEFERRED, "queue unserved", "only triggerers for other queues are alive: start `bide triggerer` without")
async def _(town: Town) -> str:
    await waiting(town)
    await triggerer(town, "gpu")
    return "a"


@case(
    S.DEFERRED,
    "triggerers full",
    "It has waited for waits.HttpTrigger for 0ms, and nobody holds it because every triggerer that could is full: "
    "N on here (1 of 1); start another one, or give them more triggerer.capacity.",
)
async def _(town: Town) -> str:
    await launched(town, task("a"), task("b"))
    await defer(town, b={}, a={})
    number = await triggerer(town, capacity=1)
    await holding.claim(town.db, WHO, number, [""], 1)
    return "a"


@case(S.DEFERRED, "unclaimed", "nobody holds it yet, and 1 triggerer with room may: one takes it at its next look.")
async def _(town: Town) -> str:
    await waiting(town)
    await triggerer(town)
    return "a"


@case(S.UP_FOR_RETRY, "date", "Its try 1 of 2 has failed: the source is down. It tries again at 2030-01-01 12:01:00Z.")
async def _(town: Town) -> str:
    await launched(town, task("a", retry=RetryPolicy(retries=1, delay=MINUTE)))
    await town.play({"a": Failed("the source is down")})
    await scheduler(town)
    return "a"


@case(S.UP_FOR_RESCHEDULE, "date", "What it looks for was not there; it looks again when there is a scheduler again")
async def _(town: Town) -> str:
    await launched(town, task("a"))
    await town.play({"a": Rescheduled(after=MINUTE)})
    await town.pass_time(MINUTE)
    return "a"
