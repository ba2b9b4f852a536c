"""Makes text safe to store and show: no lone surrogates, NUL or control characters. Pure.

Cleaning never refuses: a broken emoji from a client must not cost a person the memory around it.
"""

from __future__ import annotations

import re
import unicodedata

# C0 and C1 controls but tab and line ends, what text editors and terminals act upon, and what puts
# the text that follows into another order (UAX #9 §2: embeddings, overrides, isolates).
_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
# Letters that nobody sees and models read, but in the flags that are spelled with them (UTS #51).
_TAGS = re.compile("(\U0001f3f4[\U000e0020-\U000e007e]{1,30}\U000e007f)|[\U000e0000-\U000e007f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSEEN = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})


def clean(text: str) -> str:
    """Lone surrogates become U+FFFD, pairs one character, line ends \\n; what is not seen but acts
    on a reader is dropped.
    """
    if _SURROGATE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _TAGS.sub(r"\1", text)


def can_be_seen(text: str) -> bool:
    """Is there anything but white space and characters without a shape?"""
    return any(unicodedata.category(character) not in _UNSEEN for character in text)
