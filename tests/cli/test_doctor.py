"""doctor: says what is wrong, what to do about it, and whether anything failed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.cli.program import Place, serving
from tests.cli.somebody import Answer, Somebody, certificate_files, free_port, somebody_else

STORAGE = {"sqlite", "file system", "permissions", "key export", "vaults", "round trip", "embedder"}
OUTSIDE = {"public url", "redirects", "challenge", "discovery", "sign-in", "clock"}


def outcomes(report: Any) -> dict[str, str]:
    return {check["name"]: check["outcome"] for check in report["checks"]}


def test_alone_it_checks_the_storage_and_the_port(place: Place) -> None:
    done = place.run("doctor", "--json")
    found = outcomes(done.json)
    assert set(found) >= STORAGE | {"config file", "server", "port", "public url"}
    assert (found["round trip"], found["server"]) == ("ok", "skipped")
    assert done.code == (1 if "failed" in found.values() else 0)
    assert place.json("status")["totalMemories"] == 0  # it left nothing behind
    assert [row["name"] for row in place.json("vault", "list")["vaults"]] == ["personal"]


def test_beside_a_server_it_also_looks_from_outside(place: Place) -> None:
    with serving(place):
        done = place.run("doctor", "--json")
    assert done.code == 0, done.out
    found = outcomes(done.json)
    assert {name: found[name] for name in OUTSIDE} == dict.fromkeys(OUTSIDE, "ok")
    assert found["server"] == "ok"


def test_a_person_reads_one_line_for_each_check(place: Place) -> None:
    lines = [line.split("\t") for line in place.run("doctor").out.splitlines()]
    assert ["ok", "round trip", "Stored, found and deleted a memory."] in lines
    assert {line[0] for line in lines} <= {"ok", "warning", "failed", "skipped"}


def test_a_file_that_others_can_read_fails(place: Place) -> None:
    place.ok("status")
    (place.data / "master.key").chmod(0o644)
    done = place.run("doctor", "--json")
    assert done.code == 1
    failed = [check for check in done.json["checks"] if check["outcome"] == "failed"]
    assert any("master.key" in str(check) or "master key" in str(check) for check in failed)


def test_a_port_that_another_program_holds_fails(place: Place) -> None:
    with somebody_else() as other:
        taken = place.with_environ(REMEMBERD_PORT=str(other.port))
        done = taken.run("doctor", "--json")
    assert (done.code, outcomes(done.json)["port"]) == (1, "failed")


def test_a_data_directory_that_does_not_open_is_a_failed_check(place: Place) -> None:
    place.ok("status")
    (place.data / "master.key").unlink()
    done = place.run("doctor", "--json")
    assert done.code == 1
    assert outcomes(done.json)["data directory"] == "failed"


def test_a_public_url_where_nobody_is_fails(place: Place) -> None:
    with somebody_else() as gone:
        pass
    with serving(place, "--public-url", gone.url):
        done = place.run("doctor", "--json")
    (failed,) = (check for check in done.json["checks"] if check["outcome"] == "failed")
    assert (failed["name"], done.code) == ("public url", 1)
    assert gone.url in failed["detail"]


def test_other_settings_than_the_servers_are_noticed(place: Place) -> None:
    with serving(place) as server:
        elsewhere = place.with_environ(REMEMBERD_PUBLIC_URL="https://memory.example.com")
        done = elsewhere.run("doctor", "--json")
    assert outcomes(done.json)["server"] == "warning"
    (told,) = (check["detail"] for check in done.json["checks"] if check["name"] == "server")
    assert server.url in told
    assert "https://memory.example.com" in told


# --- a proxy in front --------------------------------------------------------------------------


@dataclass(frozen=True)
class Site:
    """A server that clients reach through a proxy."""

    place: Place
    proxy: Somebody

    def examine(self) -> tuple[int, list[dict[str, str]]]:
        """The exit code, and the checks that are not ok."""
        done = self.place.run("doctor", "--json")
        return done.code, [
            check for check in done.json["checks"] if check["outcome"] in ("failed", "warning")
        ]


# Nobody reads what the server logs: a line for each request would fill the pipe and stop it.
QUIET = {"REMEMBERD_EMBEDDER": "off", "REMEMBERD_LOG_LEVEL": "warning"}


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    place = Place(tmp_path_factory.mktemp("home"), QUIET)
    place.ok("keys", "export", "k", "--passphrase-stdin", stdin="correct horse battery")
    port = free_port()
    with somebody_else() as proxy, serving(place, "--public-url", proxy.url, port=port):
        proxy.behind = port
        yield Site(place, proxy)


@pytest.fixture
def site(proxied: Site) -> Iterator[Site]:
    proxied.proxy.mend()
    yield proxied
    proxied.proxy.mend()


AUTHORIZATION_SERVER = "/.well-known/oauth-authorization-server"
RESOURCE = "/.well-known/oauth-protected-resource"
OPENID = "/.well-known/openid-configuration"
DOCUMENTS = {
    *(RESOURCE, f"{RESOURCE}/mcp", "/jwks.json"),
    *(AUTHORIZATION_SERVER, f"{AUTHORIZATION_SERVER}/mcp", f"/mcp{AUTHORIZATION_SERVER}"),
    *(OPENID, f"{OPENID}/mcp", f"/mcp{OPENID}"),
}


def test_a_proxy_that_passes_everything_on_is_fine(site: Site) -> None:
    assert site.examine() == (0, [])
    assert {"/health", "/mcp", "/mcp/", "/authorize", "/register", "/token"} <= set(
        site.proxy.asked
    )
    assert set(site.proxy.asked) >= DOCUMENTS


def test_a_charset_that_a_proxy_adds_is_fine(site: Site) -> None:
    reply = site.proxy.answer("GET", RESOURCE, {}, b"")
    site.proxy.answers[RESOURCE] = (
        200,
        {"Content-Type": "application/json; charset=utf-8"},
        reply[2],
    )
    assert site.examine() == (0, [])


HTML: Answer = (200, {"Content-Type": "text/html"}, b"<h1>Welcome to nginx!</h1>")


def json_of(text: str, **headers: str) -> Answer:
    return 200, {"Content-Type": "application/json", **headers}, text.encode()


def to(location: str, status: int = 302) -> Answer:
    return status, {"Location": location}, b""


PASS_ON = "Let the proxy pass every path on unchanged, /.well-known included."
NO_DETOUR = "Let the proxy pass this path on as it is, without a redirect or a sign-in of its own."
BODIES = "Let the proxy pass bodies on unchanged. Or does another server answer there?"


@pytest.mark.parametrize(
    "path, answer, name, detail, advice",
    [
        # the server is not reached
        ("/health", HTML, "public url", "/health answers 200, and not as rememberd does", PASS_ON),
        ("/health", json_of("[]"), "public url", "/health answers 200, and not", PASS_ON),
        ("/health", (421, {}, b""), "public url", "/health answers 421", "allowed_hosts"),
        ("/health", (429, {}, b""), "public url", "/health answers 429", "trusted_proxies"),
        ("/health", (502, {}, b""), "public url", "/health answers 502", "this server's port?"),
        (
            "/health",
            to("https://www.example.com/health", 301),
            "public url",
            "/health answers 301 to https://www.example.com/health",
            "Set public_url to https://www.example.com.",
        ),
        (
            "/health",
            to("https://login.example.com/?next=/health"),
            "public url",
            "/health answers 302 to https://login.example.com/?next=/health",
            NO_DETOUR,
        ),
        # calls are redirected, or lose the challenge
        ("/mcp", to("/mcp/", 308), "redirects", "/mcp answers 308 to /mcp/, and", NO_DETOUR),
        ("/mcp/", to("/mcp", 301), "redirects", "/mcp/ answers 301 to /mcp, and", NO_DETOUR),
        (
            "/mcp",
            to("https://www.example.com/mcp", 307),
            "redirects",
            "/mcp answers 307 to https://www.example.com/mcp",
            "Set public_url to https://www.example.com.",
        ),
        (
            "/mcp",
            (401, {"WWW-Authenticate": "Basic"}, b""),
            "challenge",
            "A call of /mcp without a key gets 401, without the right challenge.",
            "Does the proxy pass WWW-Authenticate on?",
        ),
        # documents
        (
            AUTHORIZATION_SERVER,
            HTML,
            "discovery",
            f"{AUTHORIZATION_SERVER} comes as text/html, not as application/json.",
            PASS_ON,
        ),
        (
            f"{RESOURCE}/mcp",
            (404, {"Content-Type": "application/json"}, b"{}"),
            "discovery",
            f"{RESOURCE}/mcp answers 404.",
            PASS_ON,
        ),
        (
            OPENID,
            to(f"https://www.example.com{OPENID}", 301),
            "discovery",
            f"{OPENID} answers 301 to https://www.example.com{OPENID}.",
            "Set public_url to https://www.example.com.",
        ),
        (
            "/jwks.json",
            json_of('{"keys":[],"by":"somebody"}'),
            "discovery",
            '/jwks.json: by is "somebody" instead of nothing.',
            BODIES,
        ),
        (
            f"/mcp{OPENID}",
            json_of("{}"),
            "discovery",
            f'/mcp{OPENID}: issuer is missing instead of "http://127.0.0.1:',
            BODIES,
        ),
        (
            RESOURCE,
            json_of('{"resource": "http://old.example/mcp"}', Age="200"),
            "discovery",
            f'{RESOURCE}: resource is "http://old.example/mcp" instead of "http://127.0.0.1:',
            "A cache in front keeps an older document: clear it.",
        ),
        ("/jwks.json", json_of("["), "discovery", "what arrives is not JSON.", BODIES),
        ("/jwks.json", json_of("[]"), "discovery", "what arrives is not a JSON object.", BODIES),
        (
            "/jwks.json",
            json_of('{"keys": [] }'),
            "discovery",
            "/jwks.json: the same members in other bytes.",
            BODIES,
        ),
        # signing in
        ("/token", (404, {}, b""), "sign-in", "/token answers 404, and not as", PASS_ON),
        ("/authorize", to("/login"), "sign-in", "/authorize answers 302 to /login", NO_DETOUR),
        ("/register", HTML, "sign-in", "/register answers 200, and not as", PASS_ON),
    ],
)
def test_what_a_proxy_does_to_one_path_is_told(
    site: Site, path: str, answer: Answer, name: str, detail: str, advice: str
) -> None:
    site.proxy.answers[path] = answer
    code, (found,) = site.examine()
    assert (code, found["name"], found["outcome"]) == (1, name, "failed")
    assert detail in found["detail"]
    assert advice in found["advice"]


def test_a_proxy_that_rewrites_addresses_is_found(site: Site) -> None:
    """As one does that takes https away, and every link in every page with it."""
    url = site.proxy.url
    site.proxy.replaced[b'"issuer":"http://'] = b'"issuer":"https://'
    code, (found,) = site.examine()
    assert (code, found["name"], found["advice"]) == (1, "discovery", BODIES)
    told, _, also = found["detail"].partition(" Wrong as well: ")
    secure = url.replace("http://", "https://")
    assert told == f'{AUTHORIZATION_SERVER}: issuer is "{secure}" instead of "{url}".'
    issued = {path for path in DOCUMENTS if "resource" not in path and "jwks" not in path}
    assert set(also.rstrip(".").split(", ")) == issued - {AUTHORIZATION_SERVER}


def test_a_wrong_clock_is_a_warning(site: Site) -> None:
    site.proxy.headers["date"] = "Sat, 01 Jan 2000 00:00:00 GMT"
    code, (found,) = site.examine()
    assert (code, found["name"], found["outcome"]) == (0, "clock", "warning")


# --- a name in the world -----------------------------------------------------------------------

NAME = "other.example"  # of a certificate that this test trusts


@pytest.fixture(scope="module")
def public_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The same behind https, reached by a name: whatever host is asked, the proxy is it."""
    authority, chain = certificate_files(tmp_path_factory.mktemp("certificates"))
    place = Place(tmp_path_factory.mktemp("home"), QUIET)
    place.ok("keys", "export", "k", "--passphrase-stdin", stdin="correct horse battery")
    port = free_port()
    with (
        somebody_else(certificate=chain) as proxy,
        serving(place, "--public-url", f"https://{NAME}", port=port),
    ):
        proxy.behind = port
        world = {"HTTP_PROXY": proxy.url, "HTTPS_PROXY": proxy.url, "SSL_CERT_FILE": str(authority)}
        yield Site(place.with_environ(**world), proxy)


def test_plain_http_that_leads_to_https_is_fine(public_site: Site) -> None:
    public_site.proxy.answers = {f"http://{NAME}/health": to(f"https://{NAME}/health", 301)}
    assert public_site.examine() == (0, [])
    public_site.proxy.answers = {f"http://{NAME}/health": HTML}  # or to somebody else
    assert public_site.examine() == (0, [])


def test_plain_http_that_leads_in_is_a_warning(public_site: Site) -> None:
    public_site.proxy.mend()
    code, (found,) = public_site.examine()
    assert (code, found["name"], found["outcome"]) == (0, "encryption", "warning")
    assert f"http://{NAME} leads in as well" in found["detail"]


def test_a_public_url_without_https_is_a_warning(place: Place) -> None:
    place.ok("keys", "export", "k", "--passphrase-stdin", stdin="correct horse battery")
    port = free_port()
    with somebody_else() as proxy, serving(place, "--public-url", f"http://{NAME}", port=port):
        proxy.behind = port
        code, (found,) = Site(place.with_environ(HTTP_PROXY=proxy.url), proxy).examine()
    assert (code, found["name"], found["outcome"]) == (0, "encryption", "warning")
    assert "nobody can sign in" in found["detail"]
