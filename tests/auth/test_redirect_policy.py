"""A redirect URI that we accept leads a browser to the host that we took it to lead to."""

from __future__ import annotations

from collections.abc import Sequence

import ada_url
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rememberd.auth.policy import LOOPBACK, Redirect, Refused, read_redirect

ACCEPTED = [
    "https://claude.ai/api/mcp/auth_callback",
    "https://chatgpt.com/connector/oauth/abc123",
    "https://grok.com/connectors-oauth-exchange-code/",
    "https://vscode.dev/redirect",
    "https://client.example:8443/cb?next=%2Fx",
    "https://client.example",
    "http://127.0.0.1:33418",
    "http://127.0.0.1/callback",
    "http://localhost:3000/oauth/callback",
    "http://[::1]:8080/cb",
    "https://localhost/cb",
    "cursor://anysphere.cursor-mcp/oauth/callback",
    "vscode://vscode.github-authentication/did-authenticate",
    "claude://oauth",
    "com.example.app:/oauth2redirect",
]

REFUSED = [
    "https://good.example@evil.example/cb",
    "https://good.example\\@evil.example/cb",
    "https://good.example%5c@evil.example/cb",
    "https://good.example%2f@evil.example/",
    "https://good.example%40evil.example/",
    "https://good.example#@evil.example/",
    "https://good.example/cb#fragment",
    "//evil.example/cb",
    "/cb",
    "https:/evil.example/cb",
    "https:evil.example/cb",
    "https:///evil.example/cb",
    "https://good.example/%2e%2e/cb",
    "https://good.example/a/../cb",
    "https://good.example/./cb",
    "https://good.example/.%2E/cb",
    "http://good.example/cb",
    "http://localhost.evil.example/cb",
    "http://127.0.0.1.nip.io/cb",
    "http://2130706433/cb",
    "http://0x7f.1/cb",
    "http://127.1/cb",
    "http://[::ffff:127.0.0.1]/cb",
    "http://[0:0:0:0:0:0:0:1]/cb",
    "http://localhost./cb",
    "http://localhost:80@evil.example/cb",
    "http://127.0.0.1:80:90/cb",
    "http://127.0.0.1:0/cb",
    "http://127.0.0.1:70000/cb",
    "https://10.0.0.1/cb",
    "https://good.example./cb",
    "https://gööd.example/cb",
    "https://good.example\uff0fevil.example/",
    "https://good.example/\tcb",
    "https://good.example/\ncb",
    " https://good.example/cb",
    "https://good.example/cb\x00",
    "https://*.good.example/cb",
    "https://good.example/*",
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "javascript://good.example/%0aalert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "blob:https://good.example/x",
    "view-source:https://good.example/",
    "about:blank",
    "vbscript:x",
    "ws://good.example/",
    "intent://x#Intent;end",
    "microsoft-edge:https://evil.example/cb",
    "microsoft-edge://evil.example/cb",
    "x-safari-https://evil.example/cb",
    "safari-https://evil.example",
    "googlechrome://evil.example",
    "firefox://open-url?url=x",
    "feed:https://evil.example/cb",
    "feed://evil.example/cb",
    "opera://evil.example/cb",
    "brave://evil.example/cb",
    "ms-msdt:/id",
    "search-ms:query=x",
    "search-ms://x",
    "ms-officecmd:x",
    "shell:startup",
    "shell://startup",
    "jnlp:x",
    "jnlp://x",
    "itms-services://x",
    "x-apple.systempreferences:a",
    "x-apple.systempreferences://a",
    "callto:x",
    "callto://x",
    "steam://run",
    "cursor:callback",
    "cursor://app/https://evil.example",
    "cursor://app/cb?next=https%3A%2F%2Fevil.example",
    "cursor:/javascript:alert(1)",
    "cursor:",
    "cursor://",
    "cursor://user@host/cb",
    "cursor://host[::1]/cb",
    "cursor://host:80/cb",
    "http://[::1]80/cb",
    "https://good.example/" + "x" * 2_000,
    "",
]


@pytest.mark.quirk(number=9)
@pytest.mark.quirk(number=10)
@pytest.mark.quirk(number=25)
@pytest.mark.parametrize("uri", ACCEPTED)
def test_what_apps_use_is_accepted(uri: str) -> None:
    read = read_redirect(uri)
    assert isinstance(read, Redirect)
    assert read.uri == uri
    check_like_a_browser(read)


@pytest.mark.threat(number=2)
@pytest.mark.parametrize("uri", REFUSED)
def test_what_confuses_is_refused(uri: str) -> None:
    assert isinstance(read_redirect(uri), Refused)


def check_like_a_browser(read: Redirect) -> None:
    """The URL standard (WHATWG) is what browsers follow, and ada is a reader of it."""
    url = ada_url.URL(read.uri)
    assert url.protocol == f"{read.scheme}:"
    assert url.username == url.password == url.hash == ""
    if read.kind == "app":
        assert url.hostname.lower() == read.host.partition(":")[0]
        return
    usual = {"https": "443", "http": "80"}[read.scheme]
    assert url.hostname == read.host
    assert (url.port or usual) == str(int(read.port or usual))
    assert url.pathname == (read.rest.partition("?")[0] or "/")
    assert url.protocol == "https:" or url.hostname in LOOPBACK


SCHEMES = ["https:", "http:", "HTTPS:", "cursor:", "com.example.app:", "javascript:", "ftp:", ""]
SLASHES = ["//", "//", "//", "/", "", "///", "\\\\", "/\\"]
HOSTS = ["good.example", "evil.example", "localhost", "127.0.0.1", "[::1]", "0x7f.1", "2130706433"]
JOINTS = [
    "@",
    "%40",
    ":",
    "%3a",
    "\\",
    "%5c",
    "/",
    "%2f",
    "#",
    "?",
    ".",
    "..",
    "%2e",
    ";",
    "&",
    "=",
]
ODDS = [
    "\t",
    "\n",
    " ",
    "\x00",
    "\u3002",
    "\uff0e",
    "\u00ad",
    "ß",
    "xn--",
    "*",
    "|",
    "^",
    "%",
    "80",
]
CHARACTERS = st.text(st.characters(max_codepoint=0x10FF, exclude_categories=["Cs"]), max_size=3)
WORDS = st.sampled_from(HOSTS) | st.sampled_from(JOINTS) | st.sampled_from(ODDS) | CHARACTERS


@pytest.mark.threat(number=2)
@given(
    scheme=st.sampled_from(SCHEMES),
    slashes=st.sampled_from(SLASHES),
    words=st.lists(WORDS, max_size=6),
)
@example(scheme="https:", slashes="//", words=["good.example", "\\", "@", "evil.example"])
@example(scheme="http:", slashes="//", words=["localhost", ".", "evil.example"])
def test_whatever_is_accepted_leads_a_browser_to_the_same_host(
    scheme: str, slashes: str, words: Sequence[str]
) -> None:
    read = read_redirect(scheme + slashes + "".join(words))
    if isinstance(read, Redirect):
        check_like_a_browser(read)


LABELS = st.text("abcxyz019-_.%A", min_size=1, max_size=12)
PORTS = st.just("") | st.integers(0, 99999).map(lambda port: f":{port}") | st.just(":")
PATHS = st.text("abc/.%2eE?=&;@:!$'()+,~_-", max_size=12).map(lambda path: f"/{path}")


@pytest.mark.threat(number=2)
@given(scheme=st.sampled_from(["https", "http"]), host=LABELS, port=PORTS, path=PATHS)
@example(scheme="https", host="a.0", port="", path="/")
@example(scheme="https", host="xn--a", port="", path="/")
def test_so_does_whatever_looks_nearly_right(scheme: str, host: str, port: str, path: str) -> None:
    read = read_redirect(f"{scheme}://{host}{port}{path}")
    if isinstance(read, Redirect):
        check_like_a_browser(read)
