"""Templates into responses, with the headers that every page must have. Nothing is ever inline.

No `form-action`: Chromium applies it to the redirect after a form too, which would cut the way back
to the app that asked for consent.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import HTMLResponse, Response

from rememberd.auth import scopes
from rememberd.clock import Clock, isoformat
from rememberd.console import words
from rememberd.console.forms import FORM_TOKEN
from rememberd.console.problems import Problem
from rememberd.console.statics import Statics
from rememberd.console.visits import Visit

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).with_name("templates")
_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
)
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "; ".join(_POLICY),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
# What a signed-in person can go to; further parts of the console join here.
_PLACES = (
    ("/connections", "Connections"),
    ("/vaults", "Vaults"),
    ("/members", "Members"),
    ("/account", "Account"),
)
_WORDS: dict[str, object] = {
    "FORM_TOKEN": FORM_TOKEN,
    "LABELS": words.SCOPES,
    "PLACES": _PLACES,
    "SENTENCES": scopes.SENTENCES,
    "SOURCES": words.SOURCES,
    "TIERS": words.TIERS,
}


class Pages:
    def __init__(self, public_url: str, statics: Statics, clock: Clock) -> None:
        self._public_url = public_url
        self._statics = statics
        self._clock = clock

    async def page(
        self, visit: Visit, template: str, problem: Problem | None = None, **values: object
    ) -> Response:
        """A page with a form. Its status is that of the problem that it shows, if there is one."""
        token = await visit.form_token()
        return self._respond(template, problem, _of(visit, token) | values)

    async def plain(
        self, visit: Visit, template: str, problem: Problem | None = None, **values: object
    ) -> Response:
        """A page that strangers may see without being given a session."""
        token = await visit.form_token() if visit.browser else ""
        return self._respond(template, problem, _of(visit, token) | values)

    async def error(self, visit: Visit, problem: Problem) -> Response:
        """When there is no page to show the problem on."""
        return await self.plain(visit, "error.html", problem)

    def refusal(self, problem: Problem) -> Response:
        """An error page where nothing is known of who asks."""
        return self._respond("error.html", problem, {"account": None, "here": ""})

    def _respond(
        self, template: str, problem: Problem | None, values: dict[str, object]
    ) -> Response:
        always = {
            "problem": problem,
            "public_url": self._public_url,
            "static": self._statics.url,
        }
        html = self._templates.get_template(template).render(_WORDS | always | values)
        headers = dict(HEADERS)
        if problem is not None and problem.retry_after is not None:
            headers["Retry-After"] = str(problem.retry_after)
        return HTMLResponse(html, problem.status if problem else 200, headers)

    def _ago(self, moment: datetime) -> str:
        return words.ago(moment, self._clock.now())

    @cached_property
    def _templates(self) -> Environment:
        # A quarter of the server's whole start-up; its first page can wait for it.
        import jinja2  # noqa: PLC0415

        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_TEMPLATES),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        environment.filters.update(
            app_name=words.app_name,
            ago=self._ago,
            day=words.day,
            destination=words.destination,
            excerpt=words.excerpt,
            iso=isoformat,
            moment=words.moment,
            name=words.plain_name,
        )
        return environment


def _of(visit: Visit, form_token: str) -> dict[str, object]:
    return {
        "account": visit.account_if_any,
        "form": visit.form,
        "form_token": form_token,
        "here": visit.request.url.path,
    }
