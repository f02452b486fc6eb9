"""Makes one call to AWS with the permissions of the role it runs as, and says what came of it."""

from typing import Any

import boto3
from botocore.exceptions import ClientError

from dynajobs import JobQueue


def handler(event: dict[str, Any], context: object) -> str:  # noqa: ARG001 - the shape of a Lambda
    """The error's code, or "allowed" if the call was carried out."""
    call = getattr(boto3.client(event["service"]), event["call"])
    try:
        call(**event["arguments"])
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return "allowed"


def produce(event: dict[str, Any], context: object) -> list[str]:  # noqa: ARG001 - the shape of a Lambda
    """Enqueue as an application does: plainly, with a dedup key twice, in numbers, and look one up."""
    queue = JobQueue.from_env()
    plain = queue.enqueue("e2e.work", event)
    once = queue.enqueue("e2e.work", event, dedup_key=event["batch"])
    again = queue.enqueue("e2e.work", event, dedup_key=event["batch"])
    many = queue.enqueue_many("e2e.work", [event, event])
    assert again.id == once.id
    assert queue.get(plain.id).id == plain.id
    return [job.id for job in (plain, once, *many)]
