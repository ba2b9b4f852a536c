"""Standard input and output: a line in, a line out, in order, until the input ends."""

import io
import json
from typing import Any

from rememberd.mcp.server import McpServer
from rememberd.mcp.stdio import serve_lines
from tests.mcp.small_world import ALICE, CHARLIE, Notes, small_server
from tests.mcp.talk import modern, request


async def talk(server: McpServer, *lines: bytes, who: Any = ALICE) -> list[Any]:
    async def exchange(line: bytes) -> bytes | None:
        return (await server.answer(line, who)).body

    sink = io.BytesIO()
    await serve_lines(exchange, io.BytesIO(b"".join(lines)), sink)
    return [json.loads(line) for line in sink.getvalue().splitlines()]


def line(body: Any) -> bytes:
    return json.dumps(body).encode() + b"\n"


async def test_both_eras_are_served_on_one_pipe() -> None:
    server = small_server(Notes())
    answers = await talk(
        server,
        line(modern("server/discover", request_id="a")),
        line(request("initialize", {"protocolVersion": "2025-06-18"}, request_id=2)),
        line({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        line(request("tools/call", {"name": "count"}, request_id=3)),
    )
    assert [answer["id"] for answer in answers] == ["a", 2, 3]
    assert answers[0]["result"]["resultType"] == "complete"
    assert answers[1]["result"]["protocolVersion"] == "2025-06-18"
    assert "resultType" not in answers[2]["result"]


async def test_bad_lines_get_errors_and_the_next_line_is_answered() -> None:
    answers = await talk(
        small_server(Notes()),
        b"\n",
        b"   \r\n",
        b"{\n",
        b"\xff\n",
        b"[]\n",
        line(request("ping")),
    )
    codes = [answer.get("error", {}).get("code") for answer in answers]
    assert codes == [-32700, -32700, -32600, None]


async def test_the_last_line_may_lack_its_end() -> None:
    assert len(await talk(small_server(Notes()), line(request("ping")).rstrip())) == 1


async def test_an_answer_is_one_line_whatever_the_text_holds() -> None:
    server = small_server(Notes(["one\ntwo\r\u2028three\x85four"]))
    (answer,) = await talk(server, line(request("tools/call", {"name": "count"})))
    assert answer["result"]["structuredContent"]["newest"] == "one\ntwo\r\u2028three\x85four"


async def test_a_missing_scope_on_a_resource_is_an_error_with_its_reason() -> None:
    body = request("resources/read", {"uri": "notes://newest"})
    (answer,) = await talk(small_server(Notes()), line(body), who=CHARLIE)
    assert answer["error"]["code"] == 403
    assert "memories:read" in answer["error"]["message"]
    assert answer["error"]["data"] == {"error": "insufficient_scope"}
