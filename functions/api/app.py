"""The operators' API and their page, behind a function URL."""

from pathlib import Path

from dynajobs.http.function import lambda_handler

handler = lambda_handler(page=Path(__file__).parent / "page")
