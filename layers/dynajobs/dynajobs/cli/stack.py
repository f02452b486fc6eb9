"""Where a command goes: what flags and environment say, else the local stack that `make run` noted down."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dynajobs.errors import InvalidSettings, Unavailable
from dynajobs.settings import Settings

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

NOTE = Path(".local") / "stack.json"
_PROFILES = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE")
_ENDPOINTS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB")


@dataclass(frozen=True, kw_only=True, slots=True)
class Stack:
    """What the note says, and what came of it."""

    path: Path
    endpoint: str
    region: str
    table: str
    poller: str
    url: str = ""
    token: str = field(default="", repr=False)
    left_because: str = ""

    @property
    def hint(self) -> str:
        """What to know about the note when something went wrong."""
        if self.left_because:
            return f"the local stack of {self.path} was left alone because {self.left_because}"
        return f"{self.path} says that the local stack is at {self.endpoint}: is `make run` still running?"


@contextmanager
def open_queue(table: str | None) -> Iterator[JobQueue]:
    """The queue of a flag, of the environment or of the local stack."""
    with entered():
        yield named_queue(table)


def named_queue(table: str | None) -> JobQueue:
    """The queue of a flag, or of an environment that is complete."""
    from dynajobs.queue import JobQueue

    settings = Settings.from_env()
    name = table or settings.table
    if not name:
        raise InvalidSettings("no table: give --table or set DYNAJOBS_TABLE")
    return JobQueue(name, settings=settings)


def noted_token(url: str) -> str:
    """The token of the local stack, if it is its API that is meant."""
    stack = read(Path.cwd())
    return stack.token if stack and stack.url.rstrip("/") == url else ""


@contextmanager
def entered() -> Iterator[Stack | None]:
    """With the environment completed; what goes wrong with AWS then is told together with where it was."""
    stack = enter(os.environ, Path.cwd())
    try:
        yield stack
    except Unavailable as error:
        if stack:
            error.add_note(stack.hint)
        raise


def enter(environ: MutableMapping[str, str], folder: Path) -> Stack | None:
    """Complete the environment of this process from the local stack's note, if there is one.

    The environment, because handlers that a worker runs have AWS clients of their own.
    """
    if environ.get("AWS_REGION"):  # every AWS tool reads it except boto3
        environ.setdefault("AWS_DEFAULT_REGION", environ["AWS_REGION"])
    stack = read(folder)
    if stack is None:
        return None
    _complete(environ, {"DYNAJOBS_TABLE": stack.table})
    if why := _elsewhere(environ, stack):
        if why.startswith(_ENDPOINTS):  # another emulator, most likely
            _complete(environ, {"AWS_DEFAULT_REGION": stack.region})
        return replace(stack, left_because=why)
    _complete(environ, {"AWS_DEFAULT_REGION": stack.region, "AWS_ENDPOINT_URL": stack.endpoint})
    if not environ.get("AWS_ACCESS_KEY_ID"):
        environ.update(dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "test"))
    return stack


def read(folder: Path) -> Stack | None:
    """The note in a folder, or in the project it is part of (the nearest folder with a template.yaml)."""
    around = (folder, *folder.parents)
    project = next((each for each in around if (each / "template.yaml").is_file()), folder)
    path = next((each / NOTE for each in (folder, project) if (each / NOTE).is_file()), None)
    if path is None:
        return None
    shown = NOTE if path == folder / NOTE else path
    try:
        note = json.loads(path.read_text())
        return Stack(
            path=shown,
            **{name: str(note[name]) for name in ("endpoint", "region", "table")},
            **{name: str(note.get(name) or "") for name in ("poller", "url", "token")},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidSettings(
            f"{shown} is not what `make run` writes ({type(error).__name__}: {error}): "
            "remove it, or start `make run` again"
        ) from None


def _elsewhere(environ: MutableMapping[str, str], stack: Stack) -> str:
    """What in the environment says that another place is meant, if anything."""
    for name in _PROFILES:
        if environ.get(name):
            return f"{name} is set"
    for name in _ENDPOINTS:
        if environ.get(name) not in (None, "", stack.endpoint):
            return f"{name} is {environ[name]}"
    region = environ.get("AWS_DEFAULT_REGION")
    if region not in (None, "", stack.region):
        return f"the region is set to {region}, not {stack.region}"
    if environ.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").lower() == "true":
        return "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS is true"
    return ""


def _complete(environ: MutableMapping[str, str], values: dict[str, str]) -> None:
    for name, value in values.items():
        if not environ.get(name):
            environ[name] = value
