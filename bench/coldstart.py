"""What importing costs: the poller's modules next to a bare DynamoDB client, in fresh processes."""

from __future__ import annotations

import subprocess
import sys
from statistics import median

ROUNDS = 9
CLIENT = "import boto3; boto3.client('dynamodb', region_name='us-east-1')"
CASES = {
    "boto3.client('dynamodb')": CLIENT,
    "the same and the poller's modules": f"{CLIENT}; import dynajobs.poller_function",
    "the same, logging configured": (
        f"{CLIENT}; import dynajobs.poller_function as poller; "
        "from dynajobs import Settings; poller.configure(Settings())"
    ),
    "import dynajobs": "import dynajobs",
}


def measure(statement: str) -> float:
    """Milliseconds of CPU time that a statement takes in a new interpreter."""
    code = (
        f"import time; start = time.process_time(); {statement}; "
        "import sys; sys.stderr.write(str(time.process_time() - start))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(answer.stderr) * 1000


def compare() -> dict[str, float]:
    """Medians of several rounds, the cases in turn."""
    seen: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(ROUNDS):
        for name, statement in CASES.items():
            seen[name].append(measure(statement))
    return {name: median(values) for name, values in seen.items()}
