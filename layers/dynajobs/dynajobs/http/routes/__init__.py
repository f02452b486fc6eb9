"""The paths of the API, a module for each noun."""
