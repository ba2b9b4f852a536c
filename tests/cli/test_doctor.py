"""doctor: says what is wrong, what to do about it, and whether anything failed."""

import http.server
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from tests.cli.program import Place, serving

STORAGE = {"sqlite", "file system", "permissions", "key export", "vaults", "round trip", "embedder"}
OUTSIDE = {"public url", "redirects", "challenge", "clock"}


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
    with somebody_else({}) as url:
        port = url.rpartition(":")[2]
        done = place.with_environ(REMEMBERD_PORT=port).run("doctor", "--json")
    assert (done.code, outcomes(done.json)["port"]) == (1, "failed")


def test_a_data_directory_that_does_not_open_is_a_failed_check(place: Place) -> None:
    place.ok("status")
    (place.data / "master.key").unlink()
    done = place.run("doctor", "--json")
    assert done.code == 1
    assert outcomes(done.json)["data directory"] == "failed"


OURS = (200, {}, b'{"service": "rememberd"}')


def test_a_public_url_that_leads_elsewhere_fails(place: Place) -> None:
    for answers, name in (
        ({}, "public url"),
        ({"/health": OURS, "/mcp": (308, {"Location": "/mcp/"}, b"")}, "redirects"),
        ({"/health": OURS, "/mcp": (401, {"WWW-Authenticate": "Basic"}, b"")}, "challenge"),
        ({"/health": (200, {}, b"[]")}, "public url"),
    ):
        with somebody_else(answers) as url, serving(place, "--public-url", url):
            done = place.run("doctor", "--json")
        assert (done.code, outcomes(done.json)[name]) == (1, "failed"), answers


def test_a_public_url_where_nobody_is_fails(place: Place) -> None:
    with somebody_else({}) as url:
        pass
    with serving(place, "--public-url", url):
        done = place.run("doctor", "--json")
    (failed,) = (check for check in done.json["checks"] if check["outcome"] == "failed")
    assert (failed["name"], done.code) == ("public url", 1)
    assert url in failed["detail"]


@contextmanager
def somebody_else(answers: dict[str, tuple[int, dict[str, str], bytes]]) -> Generator[str]:
    """A web server that is not rememberd; gives its URL."""

    class Strange(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            status, headers, body = answers.get(self.path, (404, {}, b"nothing here"))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Strange) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
