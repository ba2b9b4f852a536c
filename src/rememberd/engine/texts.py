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
# Letters that nobody sees and models read: tags, but for the flags that are spelled with them
# (UTS #51 appendix C); and variation selectors after another, where they choose nothing.
_HIDDEN = re.compile(
    "(\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f)|[\U000e0000-\U000e007f]"
    "|(?<=[\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]+"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
# Without a shape: white space, controls, and letters and marks that stand for nothing (UAX #44,
# Default_Ignorable_Code_Point), the empty Braille cell too.
_UNSEEN = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)


def clean(text: str) -> str:
    """Lone surrogates become U+FFFD, pairs one character, line ends \\n; what is not seen but acts
    on a reader is dropped.
    """
    if _SURROGATE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _HIDDEN.sub(r"\1", text)


def can_be_seen(text: str) -> bool:
    """Is there anything but white space and characters without a shape?"""
    return any(unicodedata.category(character) not in _UNSEEN for character in _BLANK.sub("", text))
