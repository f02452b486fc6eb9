"""`make bench`: ratios of one run on this machine, for the eye; nothing fails because a machine is slow."""

from __future__ import annotations

import cProfile
import os
import pstats
from typing import Any

import boto3
from botocore.config import Config

from bench import coldstart, cost, throughput
from dynajobs.dynamo import default_client
from tests.support import engines

JOBS = 1000
WANTED_DRAIN, WANTED_ENQUEUE, WANTED_IMPORT = 0.75, 0.9, 1.3


def main() -> None:
    missing = engines.DYNOXIDE.why_missing()
    if missing:
        raise SystemExit(f"make bench needs the dynoxide engine: {missing}")
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


def bare_client() -> Any:
    return boto3.client("dynamodb", config=Config(max_pool_connections=64))


def print_throughput() -> None:
    print(f"Throughput: {JOBS} jobs, {throughput.THREADS} threads, median of {throughput.ROUNDS} rounds")
    found = throughput.compare(bare_client, default_client, JOBS)
    for name in ("enqueue", "drain"):
        ours, bare = found[name], found[f"bare_{name}"]
        cpu, bare_cpu = found[f"{name}_cpu"] * 1000, found[f"bare_{name}_cpu"] * 1000
        wanted = WANTED_DRAIN if name == "drain" else WANTED_ENQUEUE
        print(
            f"  {name:8} {ours:6.0f} jobs/s, bare boto3 {bare:6.0f}: "
            f"ratio {ours / bare:.2f} (wanted {wanted}); client CPU {cpu:.2f} ms a job, bare {bare_cpu:.2f}"
        )
    print(f"  requests a drained job: {found['drain_requests']:.2f}, bare 2.00")
    if found["drain"] / found["bare_drain"] < WANTED_DRAIN:
        print_profile()


def print_profile() -> None:
    """Where the time of a drain goes that is slower than wanted."""
    profile = cProfile.Profile()
    profile.runcall(throughput.measure_ours, default_client(), JOBS, throughput.Rounds())
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


if __name__ == "__main__":
    main()
