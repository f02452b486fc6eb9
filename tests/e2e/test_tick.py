"""Nobody asks the poller but EventBridge."""

import time

from dynajobs import Status
from tests.support.deployment import Deployment

# The emulator's first tick comes over a minute after deployment, then one every minute.
TICK_SECONDS = 100


def test_a_tick_of_eventbridge_gets_a_job_done(stack: Deployment, batch: str) -> None:
    job = stack.queue.enqueue("e2e.work", {"batch": batch})

    stack.ticking(True)
    give_up_at = time.monotonic() + TICK_SECONDS
    while not (now := stack.queue.get(job)).status.finished and time.monotonic() < give_up_at:
        time.sleep(0.5)

    assert (now.status, now.attempts) == (Status.COMPLETED, 0)
    assert stack.traces(batch) == [job.id]
