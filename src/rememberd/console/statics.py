"""Style sheet, script and mark: small, read once, served under names that change with their bytes.

Nothing else may be served from here: a name is looked up, never joined to a path.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

_FOLDER = Path(__file__).with_name("static")
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}


class Statics:
    """`url` gives the address of a file by its plain name."""

    def __init__(self) -> None:
        self._urls: dict[str, str] = {}
        self._files: dict[str, tuple[bytes, str]] = {}
        for path in sorted(_FOLDER.iterdir()):
            content = path.read_bytes()
            digest = hashlib.sha256(content).hexdigest()[:12]
            served = f"{path.stem}.{digest}{path.suffix}"
            self._urls[path.name] = f"/static/{served}"
            self._files[served] = (content, _TYPES[path.suffix])

    def url(self, name: str) -> str:
        return self._urls[name]

    async def serve(self, request: Request) -> Response:
        found = self._files.get(request.path_params["name"])
        if found is None:
            raise HTTPException(404)
        content, media_type = found
        return Response(content, headers=_FOREVER, media_type=media_type)
