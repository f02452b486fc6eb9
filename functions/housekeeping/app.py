"""Our own scheduled jobs, which keep the table tidy; `dynajobs.housekeeping` says what each does."""

from dynajobs import JobQueue, housekeeping

queue = JobQueue.from_env()
handler = housekeeping.registry(queue).lambda_handler(queue)
