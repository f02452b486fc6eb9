"""The browser that the page is tested in: Debian's Chromium, driven by Playwright."""

import shutil

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb"]


def program() -> str | None:
    """Where it is, if it is installed."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


def why_missing() -> str | None:
    """The sentence that says why no page can be shown here, or None if one can."""
    return None if program() else "chromium is not installed (Debian: chromium)"
