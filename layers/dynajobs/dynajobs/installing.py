"""The schedules of our own that every deployment has; their handlers are in `dynajobs.housekeeping`."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from dynajobs.telemetry import logger

if TYPE_CHECKING:
    from dynajobs.control import Agreed
    from dynajobs.queue import JobQueue

DELETE_EXPIRED = "dynajobs.delete_expired"
DELETE_DEAD_LETTERS = "dynajobs.delete_dead_letters"
RECOVER_LANES = "dynajobs.recover_lanes"
EXPIRE_RESERVATION = "dynajobs.expire_reservation"

HOUSEKEEPING = {
    DELETE_EXPIRED: ("17 3 * * *", "Deletes finished jobs past their time, where the table's TTL is off."),
    DELETE_DEAD_LETTERS: (
        "37 3 * * *",
        'Deletes dead letters older than {"days": N}; keeps all if left out.',
    ),
    RECOVER_LANES: ("47 * * * *", "Brings back jobs from lanes that no poller reads."),
    EXPIRE_RESERVATION: ("27 * * * *", "Marks a reservation whose holder crashed as expired."),
}


def install(queue: JobQueue, agreed: Agreed | None = None) -> None:
    """Create them once; one that an operator deletes stays away until this list changes."""
    declared = {
        name: {"job_type": name, "cron": cron, "description": words, "catchup": "none"}
        for name, (cron, words) in HOUSEKEEPING.items()
    }
    digest = hashlib.sha256(json.dumps(declared, sort_keys=True).encode()).hexdigest()[:12]
    if (agreed or queue.store.control.read()).installed == digest:
        return
    changes = queue.schedules.sync(declared)
    queue.store.control.tell_installed(digest)
    logger.info("schedules installed", extra={"schedules": [change.name for change in changes]})
