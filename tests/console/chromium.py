"""An installed Chromium, without a window: tabs that note what the browser complains about.

It is told to reach no host but loopback; nothing is downloaded.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

Scheme = Literal["light", "dark"]
_QUIET = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
)
_NOTE_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy violation: ${event.violatedDirective} ${event.blockedURI}`));
"""


@contextmanager
def chromium() -> Generator[Browser]:
    """Skips the test, with the reason, where there is none."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    if binary is None:
        pytest.skip("needs Chromium on the PATH")
    with sync_playwright() as driver:
        arguments = [*_QUIET, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        browser = driver.chromium.launch(executable_path=binary, args=arguments)
        yield browser
        browser.close()


@dataclass
class Tab:
    """`complaints`: policy violations, script errors, and whatever else is logged as an error."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list[str])

    @classmethod
    def opened(cls, browser: Browser, url: str, **options: Any) -> Tab:
        """In a context of its own, as a browser that has never been here."""
        context = browser.new_context(reduced_motion="reduce", **options)
        page = context.new_page()
        page.set_default_timeout(15_000)
        tab = cls(page, url)
        if options.get("java_script_enabled", True):
            page.add_init_script(_NOTE_VIOLATIONS)
        page.on("console", tab._hear)
        page.on("pageerror", lambda error: tab.complaints.append(str(error)))
        return tab

    def _hear(self, message: ConsoleMessage) -> None:
        # Chromium logs every answer of 400 and above; those are what some tests are about.
        if message.type in ("error", "warning") and "server responded" not in message.text:
            self.complaints.append(message.text)

    def open(self, path: str) -> None:
        self.page.goto(path if path.startswith("http") else self.url + path)

    @property
    def path(self) -> str:
        return self.page.url.removeprefix(self.url)

    def press(self, label: str) -> None:
        """The button that says this and nothing else."""
        self.page.get_by_role("button", name=label, exact=True).click()

    def text(self) -> str:
        return " ".join(self.page.inner_text("body").split())

    def tab_to(self, selector: str) -> None:
        """With the Tab key alone, until the element has the focus and shows it."""
        page = self.page
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert outline == "solid", f"{selector} does not show that it has the focus"
                return
        raise AssertionError(f"the Tab key does not reach {selector} at {page.url}")

    def add_authenticator(self) -> None:
        """A built-in authenticator that recognises whoever is there (WebAuthn §11)."""
        devtools = self.page.context.new_cdp_session(self.page)
        devtools.send("WebAuthn.enable")
        devtools.send(
            "WebAuthn.addVirtualAuthenticator",
            {
                "options": {
                    "protocol": "ctap2",
                    "transport": "internal",
                    "hasResidentKey": True,
                    "hasUserVerification": True,
                    "isUserVerified": True,
                    "automaticPresenceSimulation": True,
                }
            },
        )


@contextmanager
def callback() -> Generator[str]:
    """Where an app on this computer waits for its answer; yields the redirect URI."""

    class Waiting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            self.wfile.write(b"Back in the app.")

        def log_message(self, format: str, *args: Any) -> None:
            """Tests print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Waiting)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/callback"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
