"""Structured logs on standard error: one JSON object a line, or plain text in a terminal.

Only names, ids, counts and durations are logged. Memory text, queries, tokens and keys never are;
`Redacting` is the second wall behind that rule, not a licence to pass them in.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

# Credentials that could slip in through a library's message, or through a path or an id that a
# caller put one into: our own prefixes and bearer headers.
_SECRET = re.compile(
    r"\b(?:mk[_-](?:ro[_-])?|cdb_|mat_|mrt_|mac_|mcs_|mss_|mil_)[A-Za-z0-9_\-]{6,}(?::\w+)?"
    r"|(?i:bearer)\s+[^\s\"]+"
)


class Redacting(logging.Formatter):
    """Replaces anything shaped like a credential in the finished line."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self.inner = inner

    def format(self, record: logging.LogRecord) -> str:
        return _SECRET.sub("[redacted]", self.inner.format(record))


def _place(error: Any) -> str:
    """Type, file and line of an error. Not its text: that could quote what a person stored."""
    kind, _, trace = error
    frames = traceback.extract_tb(trace)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{kind.__name__}{where}" if kind else ""


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, event and whatever `extra={"data": …}` holds."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "at": at,
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        line.update(getattr(record, "data", {}))
        if record.exc_info:
            line["error"] = _place(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


class PlainLines(logging.Formatter):
    """For a person at a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        data = " ".join(f"{k}={v}" for k, v in getattr(record, "data", {}).items())
        kind = _place(record.exc_info) if record.exc_info else ""
        parts = [record.levelname.lower(), record.getMessage(), data, kind]
        return " ".join(part for part in parts if part)


def configure(level: str = "info", *, json_lines: bool | None = None) -> None:
    """Send all logs to standard error. JSON unless standard error is a terminal."""
    as_json = not sys.stderr.isatty() if json_lines is None else json_lines
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Redacting(JsonLines() if as_json else PlainLines()))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # else a line for each request it sends
