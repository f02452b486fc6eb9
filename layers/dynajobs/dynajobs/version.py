"""The version of what is installed, or of the layer."""

VERSION = "0.1.0"
