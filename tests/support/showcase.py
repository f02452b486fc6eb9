"""A table with a bit of everything that the operators' page can show, lived through in two made-up days."""

import linecache
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar
from uuid import UUID

from dynajobs import Discard, Job, JobContext, JobQueue, JobResult, Registry, Settings, Snooze
from dynajobs.operating.audit import Actor
from dynajobs.operating.operator import Operator
from dynajobs.poller import Poller
from dynajobs.testing import Clock
from tests.support.table import event_of

SCRIPT = "<img src=x onerror=\"document.title='caught'\">"
"""What must stay text wherever it is shown."""

EXACT = '{"order": 12345678901234567890, "factor": 1.0, "tiny": 1e-9, "name": "Zoë", "tags": ["a", "b"]}'
DEPLOYED = "/var/task/shop/jobs.py"
Handler = TypeVar("Handler", bound=Any)
ORGS = ("acme", "globex", "initech")
HOURS = 32
STEP = timedelta(minutes=10)


def deployed(handler: Handler) -> Handler:
    """The handler as if it stood in a function's own file: tracebacks are shown to people."""
    source = Path(__file__).read_text()
    linecache.cache[DEPLOYED] = (len(source), None, source.splitlines(keepends=True), DEPLOYED)
    handler.__code__ = handler.__code__.replace(co_filename=DEPLOYED)
    return handler


class Showcase:
    """A day and a half of a queue, ending now; `queue` then goes on with the real clock."""

    def __init__(self, client: Any, table: str, note: str = SCRIPT) -> None:
        """`note` is what stands in every text that people write."""
        self.note = note
        self.now = datetime.now(UTC).replace(microsecond=0)
        start = self.now - timedelta(hours=HOURS)
        self.clock = Clock(start.replace(minute=start.minute // 10 * 10, second=0))
        self.settings = Settings(
            handlers={"*": "shop-jobs"}, environment="staging", base_delay_seconds=120, jitter=0
        )
        self.queue = JobQueue(
            table, client=client, clock=self.clock, settings=self.settings, random=random.Random(7)
        )
        self.random = random.Random(11)
        self.registry = Registry()
        self.poller = Poller(self.queue, self._invoke)
        self.events: list[Any] = []
        self._handlers()
        self.function = self.registry.lambda_handler(self.queue)

    def live_on(self) -> JobQueue:
        """Fill the table and hand over a queue on it whose time is the real one."""
        self.queue.store.control.tell_poller()
        self._schedules()
        operator = Operator(self.queue, Actor("lena@example.com", "api"))
        while self.clock() < self.now - STEP:
            hours = (self.now - self.clock()).total_seconds() / 3600
            if not 9.1 < hours < 12.3:  # when nobody polled: some slots were missed
                self._tick()
            self._traffic(hours)
            past = self.clock() - datetime(2026, 1, 1, tzinfo=UTC)
            self.clock.advance(STEP - past % STEP)
        self.clock.set(self.now - timedelta(minutes=6))
        self._operate(operator)
        self._tick()
        self.clock.set(self.now)
        self._end()
        self.queue.store.control.tell_pass(self.now, leases=2)
        settings = self.settings
        return JobQueue(self.queue.settings.table, client=self.queue.store.table.client, settings=settings)

    def _invoke(self, _: str, job: Job) -> None:
        self.events.append(event_of(job))

    def _tick(self) -> None:
        self.poller.poll()
        self._hand_over()

    def _hand_over(self) -> None:
        while self.events:
            number = self.random.getrandbits(128)
            context = SimpleNamespace(
                log_group_name="/aws/lambda/shop-jobs",
                log_stream_name=f"{self.clock():%Y/%m/%d}/[$LATEST]{number:032x}",
                aws_request_id=str(UUID(int=number)),
                get_remaining_time_in_millis=lambda: 60_000,
            )
            self.function(self.events.pop(0), context)

    def _work(self, seconds: float) -> None:
        self.clock.advance(timedelta(seconds=seconds * self.random.uniform(0.6, 1.7)))

    def _handlers(self) -> None:
        jobs = self.registry

        @jobs.handler("email.send", max_attempts=3)
        @deployed
        def send(payload: dict[str, Any], ctx: JobContext) -> Any:
            self._work(0.4)
            if "nobody" in str(payload.get("to")):
                raise ValueError(f"the address {payload['to']!r} has no mailbox")
            if ctx.attempt == 1 and payload.get("flaky"):
                raise ConnectionError("smtp.example.com closed the connection (421 too many sessions)")
            return JobResult(message="accepted by smtp.example.com")

        @jobs.handler("crm.sync", max_attempts=5)
        @deployed
        def sync(payload: dict[str, Any], ctx: JobContext) -> Any:
            self._work(7)
            if payload.get("broken"):
                raise TimeoutError("GET https://crm.example.com/contacts timed out after 5 s")
            if ctx.scheduled_for.hour % 9 == 4 and (ctx.attempt < 2 or ctx.scheduled_for.hour == 13):
                raise TimeoutError("GET https://crm.example.com/contacts timed out after 5 s")
            return {"contacts": self.random.randrange(40, 4000), "etag": "W/1"}

        @jobs.handler("report.build", max_attempts=2)
        @deployed
        def report(payload: dict[str, Any], ctx: JobContext) -> Any:
            ctx.progress(40, 120, "pages")
            self._work(48)
            if ctx.scheduled_for.hour in (3, 15):
                raise KeyError("revenue_2026")
            if payload.get("wait") and not ctx.job.runs[:-1]:
                return Snooze(90)
            return JobResult(message=f"{self.random.randrange(80, 200)} pages", details={"format": "pdf"})

        @jobs.handler("orders.import", max_attempts=2)
        @deployed
        def orders(payload: dict[str, Any], ctx: JobContext) -> Any:
            self._work(2)
            if ctx.job.schedule_name and ctx.scheduled_for.hour % 7 == 2 and not ctx.job.runs[:-1]:
                return Snooze(2400)
            if payload.get("file") == "empty.csv":
                return Discard("the file has no rows")
            if payload.get("sku"):
                raise LookupError(f"no product with the number {payload['sku']}")
            if payload.get("note"):
                raise RuntimeError(self.note)
            return {"rows": self.random.randrange(10, 900)}

        @jobs.handler("image.resize")
        @deployed
        def resize(payload: dict[str, Any]) -> Any:
            self._work(1.2 if payload else 0.3)
            return {"wrote": 3}

    def _schedules(self) -> None:
        schedules, templates = self.queue.schedules, self.queue.templates
        templates.create(
            "welcome-mail",
            "email.send",
            payload={"to": "ada@example.com", "template": "welcome", "locale": "en"},
            description="Greets who signs up.",
        )
        templates.create("month-end", "report.build", payload={"kind": "month", "format": "pdf"}, priority=2)
        templates.create("import-note", "orders.import", payload={"note": self.note}, description=self.note)
        schedules.create(
            "crm-sync",
            "crm.sync",
            cron="0 * * * *",
            description="Contacts, both ways.",
            payload={"full": False},
        )
        schedules.create(
            "revenue-report",
            template="month-end",
            cron="0 */2 * * *",
            timezone="Europe/Berlin",
            catchup="none",
            description="For the board.",
        )
        schedules.create(
            "orders-import",
            "orders.import",
            cron="*/30 * * * *",
            payload={"file": "orders.csv"},
            overlap="skip",
        )
        schedules.create(
            "night-digest",
            "email.send",
            cron="30 2 * * *",
            timezone="America/New_York",
            payload={"to": "all"},
        )
        schedules.create("cleanup", "image.resize", cron="15 */3 * * *", catchup="all")
        schedules.create("invoices", "report.build", cron="0 6 1 * *", description=self.note, enabled=False)

    def _traffic(self, hours: float) -> None:
        queue, pick = self.queue, self.random
        org = pick.choice(ORGS)
        number = pick.randrange(1000, 9999)
        if int(hours * 6) % 4 == 0:
            queue.enqueue(
                "email.send", {"to": f"user{number}@example.com", "flaky": number % 4 == 0}, org_id=org
            )
        if int(hours * 6) % 9 == 0:
            queue.enqueue("orders.import", {"file": f"orders-{number}.csv", "sku": number}, org_id=org)
        if int(hours * 6) % 14 == 0:
            queue.enqueue("email.send", {"to": f"nobody{number}@example.com"}, org_id=org)
        if int(hours * 6) % 30 == 0:
            queue.enqueue("orders.import", {"file": "empty.csv"}, org_id="globex")

    def _operate(self, operator: Operator) -> None:
        queue = self.queue
        dead = list(queue.list(status="dead_letter", limit=200))
        operator.jobs.retry(dead[-1].id)
        cancelled = queue.enqueue("image.resize", {"image": "cat.png"}, delay=3600, org_id="initech")
        operator.jobs.cancel(cancelled.id)
        operator.schedules.disable("cleanup")
        operator.schedules.update("orders-import", description="From the shop's bucket.")
        Operator(queue, Actor(self.note[:100], "cli")).schedules.enable("cleanup")
        queue.enqueue("orders.import", {"note": self.note, self.note: 1}, org_id=self.note, max_attempts=1)
        queue.enqueue("report.build", {"kind": "week", "wait": True}, org_id="acme")
        queue.enqueue("crm.sync", {"broken": True, "page": 7}, org_id="globex", max_attempts=5)

    def _end(self) -> None:
        """What is there now: some of it runs, some waits for a retry, some is due later."""
        queue, pick = self.queue, self.random
        for number in range(9):
            delay = 60 * pick.randrange(2, 58)
            payload = {"to": f"user{number}@example.com", "template": "digest", "api_key": "hidden"}
            queue.enqueue("email.send", payload, delay=delay, org_id=ORGS[number % 3], priority=number % 3)
        self.clock.set(self.now - timedelta(seconds=80))
        for number in range(3):
            queue.enqueue("crm.sync", {"broken": True, "page": number}, org_id="acme")
        self.poller.poll()
        self._hand_over()
        self.clock.set(self.now - timedelta(seconds=3))
        queue.enqueue("image.resize", {"image": "dog.png", "width": 640}, org_id="globex")
        running = queue.enqueue("report.build", {"kind": "year", "year": 2026}, org_id="acme", priority=3)
        self.poller.poll()
        self._begin(running)
        self.events.clear()
        self.clock.set(self.now)
        queue.enqueue("orders.import", {"file": "late.csv"}, run_at=self.now - timedelta(minutes=7))
        queue.enqueue(
            "orders.import", {"file": "next-year.csv"}, delay=timedelta(days=40), dedup_key="orders#next"
        )
        job = queue.enqueue("invoice.print", {"text": "waits"}, delay=7200)
        self._store_exactly(job)

    def _begin(self, job: Job) -> None:
        """Leave a run open, its worker at work for a good while longer."""
        table = self.queue.store.table
        seen = self.queue.store.find(job)
        event = next(event for event in self.events if event["job_id"] == job.id)
        begun = self.queue.store.begin(
            {"PK": {"S": event["pk"]}, "SK": {"S": event["sk"]}},
            event["token"],
            self.now - timedelta(minutes=4),
            nonce="1",
            worker="2026/11/18/[$LATEST]9c41d2",
            log={
                "group": "/aws/lambda/shop-jobs",
                "stream": "2026/11/18/[$LATEST]9c41d2",
                "request_id": "5b0f2f0e-7d3e-4b51-9f6e-0d6a3c9c41d2",
            },
            max_attempts=2,
            until=self.now + timedelta(hours=2),
        )
        assert begun is not None and seen is not None
        table.client.update_item(
            TableName=table.name,
            Key=begun.key,
            UpdateExpression="SET progress = :progress",
            ExpressionAttributeValues={":progress": {"S": '{"done": 44, "total": 120, "message": "pages"}'}},
        )

    def _store_exactly(self, job: Job) -> None:
        table = self.queue.store.table
        table.client.update_item(
            TableName=table.name,
            Key=self.queue.store.find(job).key,
            UpdateExpression="SET payload = :payload",
            ExpressionAttributeValues={":payload": {"S": EXACT}},
        )
