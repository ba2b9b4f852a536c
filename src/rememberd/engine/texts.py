"""Makes text safe to store and show: no lone surrogates, NUL or control characters. Pure.

Cleaning never refuses: a broken emoji from a client must not cost a person the memory around it.
"""

from __future__ import annotations

import re

# C0 and C1 controls but tab and line ends, and what text editors and terminals act upon.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff\u2028\u2029]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Lone surrogates become U+FFFD, pairs one character; control characters are dropped."""
    if _SURROGATE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _CONTROL.sub("", text.replace("\r\n", "\n"))
