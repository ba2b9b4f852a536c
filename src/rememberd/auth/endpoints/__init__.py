"""The authorization server on the wire: one file per endpoint. The only part of `auth` that knows
Starlette.
"""
