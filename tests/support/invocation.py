"""Stands for Lambda's side of an invocation: its context, and a job that waits to be begun."""

from typing import Any

from dynajobs import Job, JobQueue
from dynajobs.poller import Poller
from tests.support.delivery import Delivery


class Invocation:
    """What Lambda gives to a function beside the event."""

    log_group_name = "/aws/lambda/handler"
    log_stream_name = "2026/01/01/[$LATEST]abc"
    aws_request_id = "request-1"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1000)


def claimed(queue: JobQueue, payload: dict[str, Any] | None = None, **options: Any) -> Job:
    """A job that was handed over and not yet begun."""
    delivery = Delivery()
    job = queue.enqueue("work", payload, **options)
    Poller(queue, delivery).poll()
    assert delivery.ids == [job.id]
    return delivery.jobs[0]
