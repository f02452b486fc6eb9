"""Stands for Lambda's invocation: remembers what was handed over, or refuses it."""

from dataclasses import dataclass, field

from dynajobs import Job, Unavailable


@dataclass
class Delivery:
    """`jobs` are the claimed jobs in the order of their invocation; while `refusing`, every one fails."""

    jobs: list[Job] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    refused: int = 0
    refusing: bool = False

    def __call__(self, function: str, job: Job) -> None:
        if self.refusing:
            self.refused += 1
            raise Unavailable(f"{function} is throttled")
        self.functions.append(function)
        self.jobs.append(job)

    @property
    def ids(self) -> list[str]:
        return [job.id for job in self.jobs]

    def take(self) -> list[Job]:
        """What was handed over since the last time this was asked."""
        taken, self.jobs = self.jobs, []
        return taken
