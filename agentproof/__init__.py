"""Content-addressed, signed proof bundles for bugs in agent SDKs."""

__version__ = "0.1.0.dev0"
