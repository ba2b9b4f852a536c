"""The Model Context Protocol, both eras, without sessions or streams.

Pure protocol: it knows tools and resources only by `tools/base.py`, and must never know memories.
"""
