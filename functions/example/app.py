"""Two example job types, one per way of being safe to run twice. Copy this folder to start your own."""

from datetime import UTC, datetime
from functools import cache
from typing import Any

import boto3
from botocore.exceptions import ClientError
from pydantic import BaseModel

from dynajobs import BaseJobHandler, JobContext, JobResult, Registry, Settings

jobs = Registry()


class DailySummary(BaseModel):
    """Whose day is to be summed up."""

    user_id: str


@jobs.handler("daily_summary", max_attempts=5)
def daily_summary(payload: DailySummary, ctx: JobContext) -> None:
    """Write the summary of the day the job was scheduled for.

    The summary joins the transaction that completes the job: there is never one without the other, and a
    second run would put the same item again.
    """
    day = ctx.scheduled_for.date().isoformat()
    pk, sk = f"user#{payload.user_id}", f"summary#{day}"
    summary = {
        "PK": {"S": pk},
        "SK": {"S": sk},
        "text": {"S": f"Summary of {day} for {payload.user_id}"},
        "job_id": {"S": ctx.job.id},
    }
    ctx.complete_with([{"Put": {"TableName": table_name(), "Item": summary}}], result={"wrote": f"{pk}/{sk}"})


class UserSync(BaseModel):
    """Which user to fetch, and where from."""

    user_id: str
    source: str = "crm"


@jobs.register("user_sync")
class UserSyncHandler(BaseJobHandler):
    """Record that a user was synchronised.

    A write that cannot join the completing transaction is keyed by the job's id, which every attempt shares:
    the second one finds it done.
    """

    @classmethod
    def payload_model(cls) -> type[UserSync]:
        return UserSync

    def handle(self, payload: UserSync) -> JobResult:
        pk, sk = f"user#{payload.user_id}", f"sync#{self.context.job.id}"
        try:
            dynamodb().update_item(
                TableName=table_name(),
                Key={"PK": {"S": pk}, "SK": {"S": sk}},
                UpdateExpression="SET #source = :source, synced_at = :now",
                ConditionExpression="attribute_not_exists(PK)",
                ExpressionAttributeNames={"#source": "source"},
                ExpressionAttributeValues={
                    ":source": {"S": payload.source},
                    ":now": {"S": datetime.now(UTC).isoformat()},
                },
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            return JobResult(message=f"an earlier attempt wrote {pk}/{sk}")
        return JobResult(message=f"wrote {pk}/{sk}", details={"source": payload.source})


@cache
def table_name() -> str:
    """The table of this deployment."""
    return Settings.from_env().table


@cache
def dynamodb() -> Any:
    """Made at the first job that needs it, then kept for the life of the process."""
    return boto3.client("dynamodb")


handler = jobs.lambda_handler()
