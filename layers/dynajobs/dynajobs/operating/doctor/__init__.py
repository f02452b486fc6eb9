"""Looks over a deployment and says what to do about what it finds. It reads only, and not for long."""
