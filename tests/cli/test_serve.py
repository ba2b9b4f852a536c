"""The server as a process: where it listens, what it says, how it starts, stops and refuses."""

import contextlib
import http.client
import json
import os
import shlex
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import PROGRAM, Done, Place, Server, Terminal, end, serving

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, which only Linux has")


def get(url: str, host: str = "127.0.0.1") -> tuple[int, dict[str, str], Any]:
    """Status, headers and JSON (if it is JSON) of a path on a port, such as `8420/health`."""
    port, _, path = url.partition("/")
    with contextlib.closing(http.client.HTTPConnection(host, int(port), timeout=30)) as connection:
        connection.request("GET", f"/{path}", headers={"Host": "localhost"})
        answer = connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        body = answer.read()
        is_json = headers.get("content-type", "").startswith("application/json")
        return answer.status, headers, json.loads(body) if is_json else None


def ping(server: Server, key: str) -> int:
    """The status of one MCP call with this key."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port)) as connection:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        connection.request("POST", "/mcp", '{"jsonrpc":"2.0","id":1,"method":"ping"}', headers)
        return connection.getresponse().status


def refused(place: Place, *arguments: str) -> Done:
    """A start that fails says why in one line."""
    done = place.run("serve", *arguments)
    assert len(done.err.splitlines()) == 1, done.err
    assert done.err.startswith("Error: ")
    return done


def test_it_answers_on_both_loopbacks_and_says_nothing_of_itself(server: Server) -> None:
    hosts = ["127.0.0.1", *(["::1"] if socket.has_dualstack_ipv6() else [])]
    for host in hosts:
        status, headers, body = get(f"{server.port}/health", host)
        assert (status, body["status"]) == (200, "healthy")
        assert "server" not in headers


def test_the_owner_interface_is_not_on_the_network(server: Server, place: Place) -> None:
    for path in ("owner", "keys", "projects", "keyring/export", "diagnosis"):
        assert get(f"{server.port}/{path}")[0] == 404
    assert stat.S_IMODE((place.data / "rememberd.sock").stat().st_mode) == 0o600


def test_a_key_made_beside_it_works_at_once_and_not_once_revoked(
    server: Server, place: Place
) -> None:
    made = place.json("key", "create")
    assert ping(server, made["key"]) == 200
    place.ok("key", "revoke", made["id"])
    assert ping(server, made["key"]) == 401


def test_what_it_says_first(server: Server, place: Place) -> None:
    assert server.said[1:] == [
        f"MCP         http://localhost:{server.port}/mcp",
        f"Data        {place.data}",
    ]
    told = server.stop()
    assert "rememberd key create --vault personal" in told.err
    assert f"claude mcp add --transport http rememberd {server.url}/mcp" in told.err
    assert f"rememberd keys export FILE --data {place.data}`" in told.err
    with serving(place) as again:
        assert "keys export" not in again.stop().err  # said once


def test_the_commands_it_prints_lead_to_its_data_from_anywhere(place: Place) -> None:
    """As a person copies them: another folder, another shell, the program not on the path."""
    with serving(place, "--data", "my data") as server:
        said = server.stop().err
    [line] = [line for line in said.splitlines() if "key create" in line]
    environment = {name: text for name, text in place.environment().items() if "DATA" not in name}
    done = subprocess.run(
        shlex.split(line), env=environment | {"PATH": "/usr/bin"}, cwd="/", capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert len(place.json("key", "list", "--data", "my data")["keys"]) == 1


def test_a_command_says_when_it_begins_a_data_directory(place: Place) -> None:
    assert f"Made a new data directory, {place.data}." in place.ok("vault", "list").err
    assert place.ok("vault", "list").err == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_when_told_and_finishes_what_runs(
    server: Server, place: Place, number: signal.Signals
) -> None:
    key = place.ok("key", "create").out.strip()
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"store_memory",'
    rest = b'"arguments":{"content":"We deploy on Tuesdays."}}}'
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port)) as connection:
        connection.putrequest("POST", "/mcp")
        connection.putheader("Authorization", f"Bearer {key}")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(body + rest)))
        connection.endheaders(body)
        assert get(f"{server.port}/health")[0] == 200  # by now the first half has arrived
        server.process.send_signal(number)
        connection.send(rest)
        assert json.loads(connection.getresponse().read())["result"]["isError"] is False
    assert end(server.process).code == 0
    assert place.json("status")["totalMemories"] == 1


def test_a_client_that_never_finishes_does_not_hold_it_up(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as silent:
        silent.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
        assert get(f"{server.port}/health")[0] == 200
        assert server.stop().code == 0


# --- refusals ----------------------------------------------------------------------------------


def test_a_second_server_is_told_about_the_first(server: Server, place: Place) -> None:
    for port in ("0", str(server.port)):
        done = refused(place, "--port", port)
        assert done.code == 5
        assert server.url in done.err
        assert str(server.process.pid) in done.err


def test_a_port_in_use_is_named(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = refused(place, "--port", str(port))
    assert done.code == 5
    assert f"Port {port}" in done.err
    assert not (place.data / "control.db").exists()


@pytest.mark.parametrize(
    "environ, named",
    [
        ({"REMEMBERD_PORT": "http"}, "port (from environment)"),
        ({"REMEMBERD_PUBLIC_URL": "https://x.example/mcp"}, "public_url (from environment)"),
        ({"REMEMBERD_CONFIG": "/nowhere/config.toml"}, "/nowhere/config.toml"),
        ({"REMEMBERD_HOST": "192.0.2.1"}, "192.0.2.1"),
        ({"REMEMBERD_MASTER_KEY": "abc"}, "REMEMBERD_MASTER_KEY"),
        ({"REMEMBERD_EMBEDDER": "openai"}, "embedder_url"),
        ({"REMEMBERD_EMBEDDER": "openai", "REMEMBERD_EMBEDDER_URL": "http://h"}, "embedder_model"),
        ({"REMEMBERD_EMBEDDER_URL": "localhost:11434"}, "embedder_url (from environment)"),
        ({"REMEMBERD_EMBEDDER_API_KEY": "clé"}, "embedder_api_key (from environment)"),
    ],
)
def test_a_bad_setting_is_named_with_where_it_came_from(
    place: Place, environ: dict[str, str], named: str
) -> None:
    done = refused(place.with_environ(**environ))
    assert done.code == (1 if "MASTER_KEY" in named else 2)
    assert named in done.err


def test_a_name_that_is_no_setting_is_warned_of_once_and_without_its_value(place: Place) -> None:
    odd = place.with_environ(
        REMEMBERD_PUBLICURL="a-value", REMEMBERD_KEY="mk_x", REMEMBERD_VAULT="personal"
    )
    done = odd.run("forget", "--all", "--yes")
    assert done.code == 0
    assert done.err.count("REMEMBERD_PUBLICURL") == 1
    for left_out in ("a-value", "REMEMBERD_KEY", "REMEMBERD_VAULT", "REMEMBERD_DATA,"):
        assert left_out not in done.err


def test_a_flag_wins_over_the_environment_and_that_over_the_file(place: Place) -> None:
    config = place.home / "config.toml"
    config.write_text('public_url = "http://file.example"\nlog_format = "json"\n')
    filed = place.with_environ(REMEMBERD_CONFIG=str(config))
    both = filed.with_environ(REMEMBERD_PUBLIC_URL="http://environment.example")
    for machine, flags, expected in (
        (filed, [], "http://file.example"),
        (both, [], "http://environment.example"),
        (both, ["--public-url", "http://flag.example"], "http://flag.example"),
    ):
        with serving(machine, *flags) as server:
            assert f"{expected}/mcp" in server.said[1]


def test_the_data_directory_may_be_named_before_the_verb_or_after(place: Place) -> None:
    elsewhere = str(place.home / "elsewhere")
    place.ok("--data", elsewhere, "vault", "create", "here")
    assert "here" in place.ok("vault", "list", "--data", elsewhere).out
    assert "here" not in place.ok("vault", "list").out


def test_an_open_door_without_tls_is_warned_of(place: Place) -> None:
    with serving(place, "--host", "0.0.0.0") as server:
        assert "keys travel in clear" in server.stop().err
    with serving(place, "--host", "0.0.0.0", "--public-url", "https://m.example") as server:
        assert "keys travel in clear" not in server.stop().err


# --- the process -------------------------------------------------------------------------------


@linux
def test_it_raises_its_limit_on_open_files(place: Place) -> None:
    command = ["bash", "-c", 'ulimit -Sn 256; exec "$0" serve --port 0', PROGRAM]
    process = subprocess.Popen(
        command, env=place.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout
    process.stdout.readline()
    limits = Path(f"/proc/{process.pid}/limits").read_text(encoding="utf-8")
    process.terminate()
    end(process)
    line = next(line for line in limits.splitlines() if line.startswith("Max open files"))
    assert int(line.split()[3]) > 256


@linux
def test_no_model_is_loaded_before_it_is_needed(tmp_path: Path) -> None:
    with serving(Place(tmp_path)) as server:
        mapped = Path(f"/proc/{server.process.pid}/maps").read_text(encoding="utf-8")
    assert [name for name in ("onnxruntime", "numpy", "tokenizers") if name in mapped] == []
    assert "apsw" in mapped  # or the list above proves nothing


def test_memory_text_and_keys_stay_out_of_its_log(server: Server, place: Place) -> None:
    secret = place.ok("key", "create").out.strip()
    place.ok("add", "ORCHID is the word.")
    place.ok("search", "ORCHID")
    assert ping(server, secret) == 200
    log = server.stop().err
    assert '"path": "/mcp"' in log
    assert "ORCHID" not in log
    assert secret not in log


def test_it_makes_room_for_nobody_but_takes_the_place_of_a_stdio(place: Place) -> None:
    """An app that holds the directory through stdio gives way, and goes on through the server."""
    app = place.start("stdio")
    assert app.stdin
    assert app.stdout
    ask = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    app.stdin.write(ask)
    app.stdin.flush()
    assert b"result" in app.stdout.readline()
    with serving(place):
        app.stdin.write(ask)
        app.stdin.flush()
        assert b"result" in app.stdout.readline()
        assert end(app).code == 0


def test_a_terminal_gets_colours_unless_told_otherwise(place: Place) -> None:
    for environ, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        screen = Terminal(place.with_environ(**environ), "serve", "--port", "0")
        screen.expect("key create")
        screen.interrupt()
        assert screen.end() == 0
        assert ("\x1b[36m" in screen.shown) is coloured


def test_other_users_cannot_look_into_the_data_directory(server: Server, place: Place) -> None:
    assert stat.S_IMODE(place.data.stat().st_mode) == 0o700
    assert stat.S_IMODE((place.data / "master.key").stat().st_mode) == 0o600
    assert os.listdir(place.data / "vaults")
