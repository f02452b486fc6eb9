"""The poller: EventBridge wakes it every minute, and it hands due jobs to the functions of their types."""

from dynajobs.poller import lambda_handler

handler = lambda_handler()
