"""Unit vectors as int8 bytes, the form in which they are stored; nothing else is ever stored.

Each vector is scaled so that its largest component is 127: its direction is kept to within half a
degree, and its length, which was 1, need not be stored.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LARGEST = 127


def quantise(vectors: NDArray[np.float32]) -> list[bytes]:
    """Each vector as `dimension` signed bytes; zeros stay zeros."""
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=1e-12)
    rounded = np.rint(vectors / largest * LARGEST).astype(np.int8)
    return [row.tobytes() for row in rounded]


def dequantise(rows: Sequence[bytes], dimension: int) -> NDArray[np.float32]:
    """Stored vectors as float32 unit vectors, shape (len(rows), dimension)."""
    stored = np.frombuffer(b"".join(rows), dtype=np.int8).reshape(len(rows), dimension)
    vectors = stored.astype(np.float32)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.maximum(length, 1e-12)).astype(np.float32)
