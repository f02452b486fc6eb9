"""The file that points other programs, such as the command line, at the running stack."""

import json
import os
from collections.abc import Mapping
from pathlib import Path


def write(path: Path, stack: Mapping[str, str]) -> None:
    """Whole or not at all, and for its owner alone: it will hold tokens."""
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(stack, file, indent=2)
        file.write("\n")
    draft.replace(path)
