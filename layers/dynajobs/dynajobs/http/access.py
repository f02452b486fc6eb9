"""Who may come in, and as what: bearer tokens in two roles, or AWS's own signatures."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dynajobs.errors import Unavailable
from dynajobs.http.problems import Refusal
from dynajobs.telemetry import logger

if TYPE_CHECKING:
    from dynajobs.http.request import Request

READ, OPERATE = "read", "operate"
Tokens = Mapping[str, tuple[str, ...]]
"""By role, the tokens that are valid: the current one and the one before."""

RELOAD_EVERY = 300.0
"""Seconds after which tokens are read again, so that one taken back stops working."""

RELOAD_SOON = 5.0
"""An unknown token may be a new one: then they are read again, but not more often than this."""

FAILURES_WITHIN = 60.0
SLOWED_BY, SLOWED_AT_MOST = 0.05, 0.5
"""Seconds that a failed login waits for each one before it in the last minute."""

TRY_AGAIN = 10.0
"""Seconds until tokens are read again after that failed: the known ones go on."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody with a valid token: their role, and the name that their changes are recorded under."""

    role: str
    name: str
    key: str
    """What tells it from others, whatever it calls itself."""

    def may(self, role: str) -> bool:
        """Whether it has this role: who operates may read as well."""
        return role in (self.role, READ)


class Gate:
    """Lets callers in; failed logins are logged and slowed, and never slow a valid token."""

    def __init__(
        self,
        load: Callable[[], Tokens] | None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Without `load` the signatures that AWS has checked decide."""
        self._load = load
        self._sleep = sleep
        self._monotonic = monotonic
        self._known: list[tuple[str, bytes]] = []
        self._loaded_at = -float("inf")
        self._failures: deque[float] = deque(maxlen=100)

    def admit(self, request: Request) -> Caller:
        """Who sent a request, or a refusal that is the same for every path and reason."""
        caller = self._by_token(request) if self._load else _by_signature(request)
        if caller is None:
            self._slow(request)
            raise Refusal(
                401,
                "Unauthorised",
                "send a valid token as 'Authorization: Bearer …'"
                if self._load
                else "send a request that is signed for an AWS principal",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return caller

    def _by_token(self, request: Request) -> Caller | None:
        scheme, _, token = request.header("authorization").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return None
        age = self._monotonic() - self._loaded_at
        if age >= RELOAD_EVERY:
            self._reload()
        role = self._role(token)
        if role is None and RELOAD_SOON <= age < RELOAD_EVERY:
            self._reload()
            role = self._role(token)
        return Caller(role, _actor(request, role), _digest(token).hex()) if role else None

    def _role(self, token: str) -> str | None:
        """Compared with every known token, and in the same time whether it fits or not."""
        given, found = _digest(token), None
        for role, known in self._known:
            if hmac.compare_digest(given, known):
                found = role
        return found

    def _reload(self) -> None:
        assert self._load is not None
        try:
            tokens = self._load()
        except Unavailable as error:
            if not self._known:
                raise
            logger.warning("tokens not read again", extra={"reason": str(error)})
            self._loaded_at = self._monotonic() - RELOAD_EVERY + TRY_AGAIN
            return
        self._known = [(role, _digest(each)) for role, several in tokens.items() for each in several if each]
        self._loaded_at = self._monotonic()

    def _slow(self, request: Request) -> None:
        now = self._monotonic()
        recent = sum(now - failed_at < FAILURES_WITHIN for failed_at in self._failures)
        self._failures.append(now)
        logger.warning(
            "login failed",
            extra={"source": request.source, "method": request.method, "path": request.path[:200]},
        )
        self._sleep(min(SLOWED_BY * recent, SLOWED_AT_MOST))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()


def _actor(request: Request, role: str) -> str:
    """The name a caller gives itself, for the records; the token tells the role alone."""
    given = "".join(each for each in request.header("x-dynajobs-actor") if each.isprintable())[:100].strip()
    return given or f"{role} token"


def _by_signature(request: Request) -> Caller | None:
    """With AWS_IAM the function URL has checked the signature and says whose it is."""
    iam: Any = (request.event.get("requestContext") or {}).get("authorizer") or {}
    arn = (iam.get("iam") or {}).get("userArn")
    return Caller(OPERATE, str(arn), str(arn)) if arn else None


def from_secrets(secrets: Mapping[str, str], client: Any = None) -> Callable[[], Tokens]:
    """Reads the tokens of each role from Secrets Manager: two versions of each are valid.

    So a token is rotated by storing a new one: the one before works until the next.
    """

    def load() -> Tokens:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError

        nonlocal client
        # Requests wait for it, and their function has a minute.
        config = Config(connect_timeout=2, read_timeout=3, retries={"total_max_attempts": 2})
        client = client or boto3.client("secretsmanager", config=config)
        found: dict[str, tuple[str, ...]] = {}
        for role, name in secrets.items():
            versions: list[str] = []
            for stage in ("AWSCURRENT", "AWSPREVIOUS"):
                try:
                    answer = client.get_secret_value(SecretId=name, VersionStage=stage)
                except ClientError as error:
                    if error.response["Error"]["Code"] == "ResourceNotFoundException" and versions:
                        continue
                    raise Unavailable(f"the tokens cannot be read: {error}") from error
                except BotoCoreError as error:
                    raise Unavailable(f"the tokens cannot be read: {error}") from error
                versions.append(answer["SecretString"].strip())
            found[role] = tuple(versions)
        return found

    return load
