"""`rememberd stdio`: a line to a vault that outlives servers and neighbours."""

import json
import signal
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.cli.program import PROGRAM, Done, Place, end, serving, start_server


class App:
    """An app that talks through `rememberd stdio`, one request at a time."""

    def __init__(self, place: Place, *arguments: str) -> None:
        self.process = place.start("stdio", *arguments)
        self._count = 0

    def ask(self, method: str, **params: Any) -> Any:
        """The whole answer."""
        self._count += 1
        body = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        self.say(body)
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, end(self.process).err
        answer = json.loads(line)
        assert answer["id"] == self._count
        return answer

    def say(self, body: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(body).encode() + b"\n")
        self.process.stdin.flush()

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.ask("tools/call", name=tool, arguments=arguments)["result"]

    def store(self, text: str) -> None:
        assert not self.call("store_memory", content=text)["isError"]

    def finds(self, text: str) -> bool:
        found = self.call("search_memories", query=text)["structuredContent"]["memories"]
        return text in [memory["text"] for memory in found]

    def leave(self) -> Done:
        done = end(self.process)
        return Done(done.code, done.out, complaints(done))


def complaints(done: Done) -> str:
    """What it said, but that it made a data directory: whoever comes first says so."""
    first, _, rest = done.err.partition("\n")
    return rest if first.startswith("Made a new data directory") else done.err


async def test_the_official_client_stores_and_finds(place: Place) -> None:
    parameters = StdioServerParameters(
        command=PROGRAM, args=["stdio"], env=place.environment(), cwd=place.home
    )
    async with Client(stdio_client(parameters)) as client:
        assert len((await client.list_tools()).tools) == 10
        await client.call_tool("store_memory", {"content": "We deploy on Tuesdays."})
        found = await client.call_tool("search_memories", {"query": "when do we deploy"})
    assert found.structured_content
    assert found.structured_content["memories"][0]["text"] == "We deploy on Tuesdays."


def test_two_at_once_share_a_vault_without_a_server(place: Place) -> None:
    alice, bob = App(place), App(place)
    alice.store("Alice likes tea.")
    assert bob.finds("Alice likes tea.")
    bob.store("Bob likes coffee.")
    assert place.json("search", "coffee")["memories"]  # and so does any verb beside them
    assert alice.finds("Bob likes coffee.")
    assert alice.leave() == Done(0, "", "")
    assert bob.finds("Alice likes tea.")  # whoever owned the directory, it goes on
    bob.store("Bob stays.")
    assert bob.leave() == Done(0, "", "")


@pytest.mark.slow
def test_it_goes_on_when_the_server_comes_goes_and_is_killed(place: Place) -> None:
    app = App(place)
    app.store("Stored alone.")
    for number in (signal.SIGTERM, signal.SIGKILL):
        with serving(place) as server:
            app.store(f"Stored beside server {server.process.pid}.")
            server.stop(number)
        assert app.finds(f"Stored beside server {server.process.pid}.")
        app.store("Stored alone again.")
    assert app.leave().code == 0
    assert place.json("status")["totalMemories"] == 5


def test_a_key_decides_the_vault_and_how_far(place: Place) -> None:
    place.ok("vault", "create", "work")
    place.ok("add", "We deploy on Tuesdays.", "--vault", "work")
    made = place.json("key", "create", "--vault", "work", "--read-only")
    with serving(place):
        reader = App(place.with_environ(REMEMBERD_KEY=made["key"]))
        assert reader.finds("We deploy on Tuesdays.")
        refused = reader.call("store_memory", content="No.")
        assert refused["isError"]
        assert "memories:write" in refused["content"][0]["text"]
        place.ok("key", "revoke", made["id"])
        assert "revoked" in reader.ask("ping")["error"]["message"]
        assert reader.leave().code == 0


def test_a_key_is_not_widened_by_naming_another_vault(place: Place) -> None:
    place.ok("vault", "create", "work")
    key = place.ok("key", "create", "--vault", "work", "--read-only").out.strip()
    with_key = place.with_environ(REMEMBERD_KEY=key)
    assert with_key.run("stdio", "--vault", "personal").code == 4
    assert with_key.run("stdio", "--vault", "work").code == 0


@pytest.mark.parametrize(
    "arguments, key, code",
    [(["--vault", "nowhere"], "", 3), ([], "mk_nonsense", 4)],
    ids=["unknown vault", "unknown key"],
)
def test_what_cannot_work_ends_at_once_with_its_reason(
    place: Place, arguments: list[str], key: str, code: int
) -> None:
    done = place.with_environ(REMEMBERD_KEY=key).run("stdio", *arguments)
    assert (done.code, done.out) == (code, "")
    assert complaints(done).startswith("Error: ")


def test_bad_lines_are_answered_and_notifications_are_not(place: Place) -> None:
    lines = ["{", "[]", '{"jsonrpc":"2.0","method":"notifications/initialized"}', "7", ""]
    ping = '{"jsonrpc":"2.0","id":"last","method":"ping"}'
    done = place.ok("stdio", stdin="\n".join([*lines, ping]))
    answers = [json.loads(line) for line in done.out.splitlines()]
    codes = [answer.get("error", {}).get("code") for answer in answers]
    assert codes == [-32700, -32600, -32600, None]
    assert answers[-1]["id"] == "last"


def test_what_an_app_calls_itself_is_kept_with_what_it_stores(place: Place) -> None:
    app = App(place)
    info = {"name": "tea-timer", "version": "1"}
    app.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=info)
    app.store("Tea takes four minutes.")
    found = app.call("search_memories", query="tea")["structuredContent"]["memories"][0]
    shown = app.call("inspect_memory", memory_id=found["id"])["structuredContent"]
    assert shown["memory"]["app"] == "tea-timer"
    assert app.leave().code == 0


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_a_signal_ends_it_although_its_client_still_holds_the_line(
    place: Place, number: signal.Signals, code: int
) -> None:
    app = App(place)
    app.store("We deploy on Tuesdays.")
    app.process.send_signal(number)
    assert app.process.wait(30) == code
    assert app.leave().err == ""
    assert place.json("status")["totalMemories"] == 1


@pytest.mark.slow
def test_a_write_in_flight_when_the_server_is_killed_is_answered(place: Place) -> None:
    """Done, or unknown, but never twice and never silence."""
    with serving(place):
        app = App(place)
        app.store("First.")
    server = start_server(place)
    app.store("Second.")
    server.process.kill()
    answer = app.ask("tools/call", name="store_memory", arguments={"content": "Third."})
    end(server.process)
    assert "result" in answer or "may have been done" in answer["error"]["message"]
    texts = [row["text"] for row in place.json("search", "First Second Third")["memories"]]
    assert len(texts) == len(set(texts))
    if "result" in answer:
        assert "Third." in texts
    assert app.leave().code == 0
