"""Pollers to which things happen between the claim and the invocation; everything else is the real one."""

import os
import signal

from dynajobs import Job
from dynajobs.invoke import LambdaInvoke
from dynajobs.poller_function import lambda_handler

invoke = LambdaInvoke()


def die(function: str, job: Job) -> None:  # noqa: ARG001 - the shape of an invocation
    """The process is gone when the job is claimed and nobody was told."""
    os.kill(os.getpid(), signal.SIGKILL)


def twice(function: str, job: Job) -> None:
    """Lambda may deliver an asynchronous event more than once."""
    invoke(function, job)
    invoke(function, job)


dying = lambda_handler(invoke=die)
repeating = lambda_handler(invoke=twice)
