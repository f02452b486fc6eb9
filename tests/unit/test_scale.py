"""How throughput grows with SHARDS, within DynamoDB's limit of 1,000 write units a second and partition."""

import pytest

from tests.support.partitions import Load, throughput

ONE_LANE = 200


def test_one_lane_carries_two_hundred_jobs_a_second() -> None:
    assert throughput(Load(shards=1)) == pytest.approx(ONE_LANE, rel=0.05)


@pytest.mark.parametrize("job_types", [1, 5])
@pytest.mark.parametrize("shards", [2, 4, 8, 16])
def test_throughput_grows_with_the_lanes(shards: int, job_types: int) -> None:
    """Also of a single type, whose finished jobs all belong together."""
    assert throughput(Load(shards=shards, job_types=job_types)) >= 0.9 * shards * ONE_LANE


def test_it_would_not_if_finished_jobs_were_not_spread_as_well() -> None:
    assert throughput(Load(shards=16, done_shards=False)) <= 1.02 * 1000
