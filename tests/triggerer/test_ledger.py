"""What a triggerer knows that it holds, held against what the database says."""

from bide.store import holding, jobs, views
from bide.store.holding import Claim
from bide.store.jobs import JobType, NewJob
from bide.triggerer.ledger import Ledger
from tests.triggerer.post import WHO, Post


async def test_a_wait_that_was_lost_does_not_make_up_for_one_that_nobody_knows_of(post: Post) -> None:
    numbers = await post.wait("Sleeps", *[{"seconds": 1}] * 3)
    job = NewJob(job_type=JobType.TRIGGERER, hostname="test", heartbeat_sec=60)
    me = await jobs.register(post.db, WHO, job)
    held = [Claim(one.id, one.claim) for one in await holding.claim(post.db, WHO, me, [""], 2)]
    ledger = Ledger()
    for claim in held:
        ledger.add(claim)
    assert not ledger.differing(await views.parts_of_waits(post.db, me))
    (unknown,) = set(numbers) - {claim.id for claim in held}
    ledger.remove(held[0])
    ledger.add(Claim(unknown, held[0].claim))
    assert ledger.differing(await views.parts_of_waits(post.db, me)) == [unknown // views.PART]
    ledger.remove(Claim(unknown, held[0].claim))
    ledger.remove(Claim(held[1].id, held[1].claim + 1))
    ledger.add(held[0])
    assert not ledger.differing(await views.parts_of_waits(post.db, me))
