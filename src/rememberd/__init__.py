"""rememberd: a self-hosted memory server. This module holds the version and must import nothing."""

__version__ = "0.1.0"
