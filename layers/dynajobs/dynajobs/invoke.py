"""Handing a claimed job to its Lambda function; the only user of the Lambda client."""

from __future__ import annotations

import json
import threading
from typing import Any

from dynajobs.errors import Unavailable
from dynajobs.item import job_key
from dynajobs.job import Job

POLL_SECONDS = 120
"""How long a call waits for its answer: longer than the poller's own time-out."""


class LambdaInvoke:
    """Invokes functions asynchronously; the client is made when the first job is handed over."""

    def __init__(self, client: Any = None) -> None:
        self._client = client
        self._lock = threading.Lock()

    def __call__(self, function: str, job: Job) -> None:
        """Hand over a claimed job: its key, its id and the claim's token, nothing else."""
        key = job_key(job)
        self.send(
            function, {"pk": key["PK"]["S"], "sk": key["SK"]["S"], "job_id": job.id, "token": job.locked_by}
        )

    def send(self, function: str, event: dict[str, Any]) -> None:
        """Invoke a function with any event; `Unavailable` if Lambda does not take it."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            self._lambda().invoke(
                FunctionName=function, InvocationType="Event", Payload=json.dumps(event).encode()
            )
        except (BotoCoreError, ClientError) as error:
            raise Unavailable(f"{function} could not be invoked: {error}") from error

    def _lambda(self) -> Any:
        with self._lock:
            if self._client is None:
                import boto3
                from botocore.config import Config

                # One try more is enough: an event that was not taken is released and claimed again.
                retries = {"mode": "standard", "total_max_attempts": 2}
                config = Config(connect_timeout=2, read_timeout=5, max_pool_connections=32, retries=retries)
                self._client = boto3.client("lambda", config=config)
            return self._client


def call(function: str, event: dict[str, Any], client: Any = None) -> dict[str, Any]:
    """Invoke a function and wait for what it answers; `Unavailable` if it, or AWS, fails."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        answer = (client or _waiting_client()).invoke(
            FunctionName=function, InvocationType="RequestResponse", Payload=json.dumps(event).encode()
        )
        text = answer["Payload"].read()
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code")
        missing = code == "ResourceNotFoundException"
        reason = "there is no such function in this region and account" if missing else str(error)
        raise Unavailable(f"{function} could not be invoked: {reason}") from error
    except BotoCoreError as error:
        raise Unavailable(f"{function} could not be invoked: {error}") from error
    try:
        value = json.loads(text or b"null")
    except ValueError:
        value = None
    if answer.get("FunctionError"):
        told = value if isinstance(value, dict) else {}
        raise Unavailable(f"{function} failed: {told.get('errorType')}: {told.get('errorMessage')}")
    if not isinstance(value, dict):
        raise Unavailable(f"{function} answered {text[:80]!r}: it is no poller")
    return value


def configuration(function: str, client: Any = None) -> dict[str, Any] | None:
    """How a function is set up; None if there is no such function."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        found: dict[str, Any] = (client or _waiting_client()).get_function_configuration(
            FunctionName=function
        )
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") == "ResourceNotFoundException":
            return None
        raise Unavailable(f"{function} could not be looked at: {error}") from error
    except BotoCoreError as error:
        raise Unavailable(f"{function} could not be looked at: {error}") from error
    return found


def _waiting_client() -> Any:
    import boto3
    from botocore.config import Config

    # Sent once: a poll that was asked for twice would do no harm, but wait twice.
    config = Config(connect_timeout=2, read_timeout=POLL_SECONDS, retries={"total_max_attempts": 1})
    return boto3.client("lambda", config=config)
