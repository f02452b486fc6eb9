"""`make bench`: ratios of one run on this machine, for the eye; nothing fails because a machine is slow."""

from __future__ import annotations

import cProfile
import logging
import os
import pstats
from statistics import median
from typing import Any

import boto3
from botocore.config import Config

from bench import coldstart, cost, precision, throughput
from dynajobs.dynamo import default_client
from tests.support import engines

JOBS = 1000
WANTED_DRAIN, WANTED_TWO, WANTED_ENQUEUE, WANTED_IMPORT = 1.3, 2.0, 0.9, 1.3


def main() -> None:
    missing = engines.DYNOXIDE.why_missing()
    if missing:
        raise SystemExit(f"make bench needs the dynoxide engine: {missing}")
    logging.disable()
    engine = engines.start(engines.DYNOXIDE)
    os.environ.update(
        AWS_ENDPOINT_URL=engine.endpoint_url,
        AWS_ACCESS_KEY_ID="test",
        AWS_SECRET_ACCESS_KEY="test",
        AWS_DEFAULT_REGION="us-east-1",
    )
    print_throughput()
    print_cost()
    print_coldstart()
    print_precision()


def bare_client() -> Any:
    return boto3.client("dynamodb", config=Config(max_pool_connections=64))


def print_throughput() -> None:
    print(f"Throughput: {JOBS} jobs, {throughput.THREADS} threads, medians of {throughput.ROUNDS} rounds")
    enqueue, drain, two = throughput.compare(bare_client, default_client, JOBS)
    for name, found, wanted in (
        ("enqueue", enqueue, WANTED_ENQUEUE),
        ("drain", drain, WANTED_DRAIN),
        ("drain by two processes", two, WANTED_TWO),
    ):
        print(
            f"  {name:22} ratio {found.ratio:.2f} (wanted {wanted}): "
            f"{typical(found.ours)}, bare boto3 {typical(found.bare)}"
        )
    print(f"  requests a drained job: {median(each.requests for each in drain.ours):.2f}, bare 2.00")
    if drain.ratio < WANTED_DRAIN:
        print_profile()


def typical(rates: list[throughput.Rate]) -> str:
    per_second = median(rate.per_second for rate in rates)
    return (
        f"{per_second:.0f} jobs/s with {median(rate.cpu_milliseconds for rate in rates):.2f} ms of CPU each"
    )


def print_profile() -> None:
    """Where the time of a drain goes that is slower than wanted."""
    profile = cProfile.Profile()
    profile.runcall(
        throughput.measure_ours, default_client(), JOBS, throughput.Comparison(), throughput.Comparison()
    )
    pstats.Stats(profile).sort_stats("tottime").print_stats(25)


def print_cost() -> None:
    print("Write units a job of less than 1 KB, from enqueue to completed, counted from the items written")
    for name, units in cost.write_units(default_client).items():
        print(f"  {units:5.1f}  {name}")
    print("Read units of an idle poll, by finished jobs in the table")
    for finished, read in cost.poll_units(default_client).items():
        print(f"  {read:5.1f}  {finished:,}")


def print_coldstart() -> None:
    print(f"Imports: CPU time in a new interpreter, median of {coldstart.ROUNDS}")
    found = coldstart.compare()
    base = found["boto3.client('dynamodb')"]
    for name, milliseconds in found.items():
        print(f"  {milliseconds:6.0f} ms, ratio {milliseconds / base:.2f}  {name}")
    print(f"  wanted: the poller's at most {WANTED_IMPORT}")


def print_precision() -> None:
    print("Seconds from due to started on the deployed stack (the emulator's own time included)")
    print(f"  {'':38}{'p50':>8}{'p95':>8}{'p99':>8}")
    with precision.stack() as stack:
        for name, measure in (
            (f"{precision.SINGLE} jobs due now, one by one", precision.due_now),
            (f"{precision.TIMED} jobs due at a known second", precision.due_then),
            (f"a burst of {precision.BURST:,}", precision.in_a_burst),
            ("without the stream, by the tick", precision.without_stream),
        ):
            late = measure(stack)
            for part, values in (
                (name, late.total),
                ("  until claimed", late.to_claim),
                ("  from there: invoked and begun", late.to_start),
            ):
                shown = "".join(f"{precision.percentile(values, share):8.2f}" for share in (0.5, 0.95, 0.99))
                print(f"  {part:38}{shown}")
        seconds = precision.idle_tick_seconds(stack)
    month = precision.idle_month(seconds, reads=cost.IDLE_READS, writes=cost.IDLE_WRITES)
    told = ", ".join(f"{name} ${dollars:.3f}" for name, dollars in month.items())
    print(
        f"An idle hour: {60 * cost.IDLE_READS:g} read and {60 * cost.IDLE_WRITES:g} write units, "
        f"{60 * seconds:.1f} s of Lambda; a month: {told}, in all ${sum(month.values()):.2f} (wanted < 0.10)"
    )


if __name__ == "__main__":
    main()
