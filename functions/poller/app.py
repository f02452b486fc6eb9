"""The poller: it hands due jobs to the functions of their types, woken every minute and by new jobs."""

from dynajobs.poller_function import lambda_handler

handler = lambda_handler()
