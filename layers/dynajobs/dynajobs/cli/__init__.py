"""The command line: `dynajobs jobs …`, `schedules …`, `errors`, `stats`, `doctor`, `worker` and the rest."""

from __future__ import annotations

import sys

try:
    import click
except ModuleNotFoundError:
    sys.stderr.write("dynajobs: the command line is an extra: pip install 'dynajobs[cli]'\n")
    sys.exit(2)

from dynajobs.cli.audit import audit
from dynajobs.cli.doctor import doctor
from dynajobs.cli.errors import errors
from dynajobs.cli.failure import Application
from dynajobs.cli.jobs import jobs
from dynajobs.cli.reservation import reservation
from dynajobs.cli.schedules import schedules
from dynajobs.cli.stats import stats
from dynajobs.cli.templates import templates
from dynajobs.cli.tick import tick
from dynajobs.cli.worker import worker


@click.group(
    cls=Application,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="The table is --table, DYNAJOBS_TABLE, or that of the local stack that `make run` runs here; with "
    "--url or DYNAJOBS_URL commands go through the HTTP API. "
    "Exit codes: 0 done, 1 refused or not found, 2 usage, 3 AWS or the API cannot be reached or there is no "
    "such table, 4 unauthorised.",
)
@click.version_option(package_name="dynajobs")
def main() -> None:
    """A scheduled job queue in one DynamoDB table."""


for each in (jobs, schedules, templates, errors, stats, audit, reservation, doctor, tick, worker):
    main.add_command(each)
