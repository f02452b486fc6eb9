"""What goes wrong, as one sentence on stderr and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from dynajobs.errors import DynajobsError, Unavailable
from dynajobs.words import printable

REFUSED, USAGE, UNREACHABLE, UNAUTHORISED, BUG, INTERRUPTED = 1, 2, 3, 4, 70, 130

_MISSING = frozenset(
    {
        "CredentialRetrievalError",
        "NoAuthTokenError",
        "NoCredentialsError",
        "PartialCredentialsError",
        "ProfileNotFound",
        "SSOTokenLoadError",
        "TokenRetrievalError",
        "UnauthorizedSSOTokenError",
    }
)
_REFUSED = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignatureException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationTokenException",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)


class Unauthorised(DynajobsError):
    """The API does not take the token, or there is none to send."""


class Application(click.Group):
    """The root of all commands: no failure leaves it as a traceback."""

    def main(  # type: ignore[override]  # what click passes is passed on as it is
        self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **extra: Any
    ) -> Any:
        """What the `dynajobs` script calls."""
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **extra)
        sys.exit(self._exit_code(args, extra))

    def _exit_code(self, args: Sequence[str] | None, extra: dict[str, Any]) -> int:
        try:
            code = super().main(args, standalone_mode=False, **extra)
            return code if isinstance(code, int) else 0
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            return error.exit_code
        except click.ClickException as error:
            say(_usage(error))
            return error.exit_code
        except click.Abort:
            say("interrupted")
            return INTERRUPTED
        except DynajobsError as error:
            say(_sentence(error))
            return exit_code(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, an operator is not shown a traceback
            say(f"unexpected {type(error).__name__}: {error} (please report it: this is a bug)")
            return BUG


def say(message: str) -> None:
    """A message beside the output: on stderr, so that stdout has nothing but the answer."""
    click.echo(f"dynajobs: {printable(message.strip())}", err=True)


def exit_code(error: DynajobsError) -> int:
    """The documented exit code of an error."""
    if isinstance(error, Unauthorised):
        return UNAUTHORISED
    if isinstance(error, Unavailable):
        return UNAUTHORISED if _not_set_up(error) or _aws_code(error) in _REFUSED else UNREACHABLE
    return USAGE if isinstance(error, ValueError) else REFUSED


def _sentence(error: DynajobsError) -> str:
    notes = getattr(error, "__notes__", ())
    cause = error.__cause__
    kind = type(cause).__name__
    if kind == "NoRegionError":
        text = "no AWS region is set: set AWS_REGION, or AWS_PROFILE to a profile that has one"
    elif kind == "NoCredentialsError":
        text = "no AWS credentials are set: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    elif kind in _MISSING:
        text = f"AWS credentials cannot be used: {cause}"
    elif _aws_code(error) in _REFUSED:
        text = f"AWS refused the credentials or what they may do: {cause}"
    else:
        text = str(error)
    return "; ".join((text, *notes))


def _not_set_up(error: DynajobsError) -> bool:
    """True if AWS was not asked at all, for want of credentials or of a region."""
    return type(error.__cause__).__name__ in _MISSING | {"NoRegionError"}


def _aws_code(error: DynajobsError) -> str:
    code: str = getattr(error.__cause__, "response", {}).get("Error", {}).get("Code", "")
    return code


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    if not isinstance(error, click.UsageError) or context is None or isinstance(error, click.BadParameter):
        return error.format_message()
    return f"{error.format_message()} (see {context.command_path} --help)"
