"""The start page: for strangers a few plain words, for everybody else the way to their memory."""

from __future__ import annotations

from starlette.responses import Response

from rememberd.auth.accounts import Accounts
from rememberd.console.problems import Problem
from rememberd.console.redirects import see_other
from rememberd.console.render import Pages
from rememberd.console.visits import Visit


class Home:
    def __init__(self, pages: Pages, accounts: Accounts) -> None:
        self._pages = pages
        self._accounts = accounts

    async def show(self, visit: Visit, problem: Problem | None = None) -> Response:
        if visit.account_if_any is not None:
            return see_other("/connections")
        is_set_up = await self._accounts.is_set_up()
        return await self._pages.plain(visit, "home.html", problem, is_set_up=is_set_up)
