"""Unit vectors as int8 bytes, the form in which they are stored; nothing else is ever stored.

One symmetric scale for all (127 is 1.0), so stored vectors compare with each other and with a query
without any per-row factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCALE = 127.0


def quantise(vectors: NDArray[np.float32]) -> list[bytes]:
    """Each unit vector as `dimension` bytes."""
    rounded = np.rint(np.clip(vectors, -1.0, 1.0) * SCALE).astype(np.int8)
    return [row.tobytes() for row in rounded]


def stack(rows: Sequence[bytes], dimension: int) -> NDArray[np.int8]:
    """Stored vectors as one matrix of shape (len(rows), dimension)."""
    return np.frombuffer(b"".join(rows), dtype=np.int8).reshape(len(rows), dimension)


def dequantise(rows: Sequence[bytes], dimension: int) -> NDArray[np.float32]:
    """Stored vectors as float32, shape (len(rows), dimension); unit length to within one percent."""
    return stack(rows, dimension).astype(np.float32) / SCALE
