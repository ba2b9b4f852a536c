"""Measures rememberd from the outside: through its command, its sockets and HTTP, as users do."""
