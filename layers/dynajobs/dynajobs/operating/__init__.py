"""What operators do, answered as the JSON that the HTTP API, the command line and the page show."""
