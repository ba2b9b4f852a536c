"""The only package that knows SQL: databases, keys, and the queries on them.

`Store` opens everything; a `VaultHandle` is the only object on which memory queries run, bound to
one vault and one mode.
"""
