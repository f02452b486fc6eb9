"""The HTTP API: what an operator does, as requests. `dynajobs.http.function` is the Lambda's whole app.py."""
