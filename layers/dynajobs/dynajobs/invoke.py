"""Handing a claimed job to its Lambda function; the only user of the Lambda client."""

from __future__ import annotations

import json
import threading
from typing import Any

from dynajobs.errors import Unavailable
from dynajobs.item import job_key
from dynajobs.job import Job


class LambdaInvoke:
    """Invokes functions asynchronously; the client is made when the first job is handed over."""

    def __init__(self, client: Any = None) -> None:
        self._client = client
        self._lock = threading.Lock()

    def __call__(self, function: str, job: Job) -> None:
        """Hand over a claimed job: its key, its id and the claim's token, nothing else."""
        from botocore.exceptions import BotoCoreError, ClientError

        key = job_key(job)
        event = {"pk": key["PK"]["S"], "sk": key["SK"]["S"], "job_id": job.id, "token": job.locked_by}
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
