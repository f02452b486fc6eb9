"""Handles send_reminder: a job type with a Lambda function of its own."""

from pydantic import BaseModel

from dynajobs import Discard, JobContext, JobResult, Registry

jobs = Registry()


class SendReminder(BaseModel):
    """Whom to remind, and of what."""

    user_id: str
    text: str


@jobs.handler("send_reminder", max_attempts=3)
def send_reminder(payload: SendReminder, ctx: JobContext) -> JobResult | Discard:
    """Send it, with the job's id as the message's id: a mail service drops the second of two equal ids."""
    if not payload.text.strip():
        return Discard("there is nothing to say")
    return JobResult(message=f"reminded {payload.user_id}", details={"message_id": ctx.job.id})


handler = jobs.lambda_handler()
