"""A registry that a worker's command line can name."""

from tests.support.work import working

jobs = working()
