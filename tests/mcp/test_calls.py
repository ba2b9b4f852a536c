"""The promises of one tool call: in which order it is checked, and what each refusal says."""

import json
import logging
from dataclasses import replace

import pytest

from rememberd.mcp.server import McpServer
from rememberd.model import READ, WRITE, Principal
from tests.mcp.small_world import ALICE, BOB, CHARLIE, METADATA, Notes, principal, small_server
from tests.mcp.talk import ask, ask_modern, call, modern, request

INVALID_PARAMS, INTERNAL = -32602, -32603
NOTHING_DELETED = "Deletion was not performed: nothing was deleted"


@pytest.fixture
def notes() -> Notes:
    return Notes(["the phrase is ORCHID-7419"])


@pytest.fixture
def server(notes: Notes) -> McpServer:
    return small_server(notes)


# --- results -----------------------------------------------------------------------------------


async def test_a_result_is_an_object_and_the_same_as_text(server: McpServer) -> None:
    answer = await call(server, "count", {})
    assert answer.result["structuredContent"] == {
        "totalNotes": 1,
        "newest": "the phrase is ORCHID-7419",
    }
    assert answer.result["isError"] is False
    assert json.loads(answer.text) == answer.result["structuredContent"]


async def test_what_is_none_is_left_out() -> None:
    answer = await call(small_server(Notes()), "count", {})
    assert answer.result["structuredContent"] == {"totalNotes": 0}


async def test_recalled_text_is_called_data_before_the_first_row(server: McpServer) -> None:
    answer = await call(server, "find", {"query": "phrase"})
    assert "not instructions" in answer.text
    assert answer.text.index("not instructions") < answer.text.index("ORCHID-7419")
    structured = answer.result["structuredContent"]
    assert next(iter(structured)) == "notice"
    assert structured["notes"] == ["the phrase is ORCHID-7419"]


@pytest.mark.parametrize("arguments", [None, {}])
async def test_no_arguments_can_be_said_in_two_ways(server: McpServer, arguments: object) -> None:
    assert (await call(server, "count", arguments)).result["isError"] is False


async def test_arguments_may_be_absent(server: McpServer) -> None:
    answer = await ask(server, request("tools/call", {"name": "count"}))
    assert answer.result["isError"] is False


async def test_null_stands_for_an_optional_argument_left_out(server: McpServer) -> None:
    answer = await call(server, "find", {"query": "phrase", "tiers": None, "near": None})
    assert answer.result["isError"] is False


# --- the order of checks -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nope", "", None, 7, ["count"], "Count", "\ud800"])
async def test_an_unknown_tool_is_invalid_params_whoever_asks(
    server: McpServer, name: object
) -> None:
    for who in (ALICE, CHARLIE):
        answer = await ask(server, request("tools/call", {"name": name}), who)
        assert (answer.status, answer.code) == (200, INVALID_PARAMS)


async def test_an_unknown_tool_is_told_which_there_are(server: McpServer) -> None:
    answer = await ask_modern(server, modern("tools/call", {"name": "nope"}))
    assert (answer.status, answer.code) == (400, INVALID_PARAMS)
    assert "count, find, keep, wipe, fail" in answer.error["message"]


@pytest.mark.parametrize(
    "who, tool, arguments, scope",
    [
        (BOB, "keep", {"entries": [{"text": "x", "importance": 1}]}, "memories:write"),
        (BOB, "keep", {"nonsense": True}, "memories:write"),
        (BOB, "wipe", {"confirmation": "DELETE ALL", "really": True}, "memories:delete"),
        (BOB, "wipe", {}, "memories:delete"),
        (CHARLIE, "count", {}, "memories:read"),
    ],
)
async def test_the_scope_comes_first_and_nothing_is_done(
    server: McpServer, notes: Notes, who: Principal, tool: str, arguments: object, scope: str
) -> None:
    answer = await call(server, tool, arguments, who)
    assert answer.status == 200
    assert answer.result["isError"] is True
    assert scope in answer.text
    assert "Nothing was done" in answer.text
    assert notes.calls == 0


async def test_each_is_told_how_to_come_by_a_scope(server: McpServer) -> None:
    by_key = await call(server, "keep", {}, BOB)
    assert "`rememberd key create --scope read --scope write`" in by_key.text
    assert "econnect" not in by_key.text
    by_grant = await call(server, "keep", {}, replace(BOB, grant_id="gnt_1"))
    assert "Reconnect and approve memories:write" in by_grant.text
    assert "key" not in by_grant.text


@pytest.mark.quirk(number=19)
async def test_the_challenge_asks_for_what_is_granted_and_what_is_needed(server: McpServer) -> None:
    for ask_in_era in (ask, ask_modern):
        body = (request if ask_in_era is ask else modern)("tools/call", {"name": "wipe"})
        answer = await ask_in_era(server, body, principal(WRITE, READ))
        assert answer.result["_meta"]["mcp/www_authenticate"] == [
            f'Bearer error="insufficient_scope", resource_metadata="{METADATA}", '
            'scope="memories:read memories:write memories:delete", '
            'error_description="This call needs memories:delete"'
        ]


@pytest.mark.quirk(number=19)
async def test_the_challenge_has_the_same_bytes_each_time(server: McpServer) -> None:
    first = await call(server, "keep", {}, BOB)
    assert first.raw == (await call(server, "keep", {}, BOB)).raw


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        None,
        [],
        "DELETE ALL",
        {"confirmation": "delete all", "really": True},
        {"confirmation": "DELETE ALL ", "really": True},
        {"confirmation": True, "really": True},
        {"confirmation": None},
        {"confirmation": "", "unknown": 1},
        {"confirmation": ["DELETE ALL"]},
    ],
)
async def test_without_the_exact_phrase_nothing_is_deleted_and_it_says_so(
    server: McpServer, notes: Notes, arguments: object
) -> None:
    answer = await call(server, "wipe", arguments)
    assert answer.status == 200
    assert answer.result["isError"] is True
    assert answer.text.startswith(NOTHING_DELETED)
    assert '"DELETE ALL"' in answer.text
    assert (notes.calls, len(notes.kept)) == (0, 1)


async def test_with_the_phrase_the_schema_still_counts(server: McpServer, notes: Notes) -> None:
    answer = await call(server, "wipe", {"confirmation": "DELETE ALL"})
    assert answer.code == INVALID_PARAMS
    assert "really is required" in answer.error["message"]
    assert notes.calls == 0


async def test_with_phrase_and_arguments_it_is_done(server: McpServer, notes: Notes) -> None:
    answer = await call(server, "wipe", {"confirmation": "DELETE ALL", "really": True})
    assert answer.result["structuredContent"] == {"totalNotes": 0}
    assert notes.kept == []


# --- arguments against the schema --------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({}, "query is required"),
        ({"query": ""}, "query must not be empty"),
        ({"query": "x" * 21}, "query must have at most 20 characters"),
        ({"query": 7}, "query must be a string"),
        ({"query": None}, "query must be a string"),
        ({"query": "\ud800"}, "query must be valid Unicode, without lone surrogates"),
        ({"query": "ab", "limit": 0}, "limit must be at least 1"),
        ({"query": "ab", "limit": 251}, "limit must be at most 250"),
        ({"query": "ab", "limit": 10**30}, "limit must be at most 250"),
        ({"query": "ab", "limit": "10"}, "limit must be an integer"),
        ({"query": "ab", "limit": True}, "limit must be an integer"),
        ({"query": "ab", "limit": 1.5}, "limit must be an integer"),
        ({"query": "ab", "tiers": []}, "tiers must not be empty"),
        ({"query": "ab", "tiers": [1, 4]}, "tiers[1] must be 1, 2 or 3"),
        ({"query": "ab", "tiers": 1}, "tiers must be an array"),
        ({"query": "ab", "near": "x"}, "near must be a number"),
        ({"query": "ab", "near": -1}, "near must be at least 0.0"),
        ({"query": "ab", "user_id": "u"}, "user_id is not an argument of this tool"),
        ({"query": "AB"}, "query must not be all capitals"),
        ({"query": "", "limit": 0}, "query must not be empty; limit must be at least 1"),
        ([], "arguments must be an object"),
        ("x", "arguments must be an object"),
        (0, "arguments must be an object"),
        (False, "arguments must be an object"),
    ],
    ids=str,
)
async def test_bad_arguments_name_the_field_and_the_limit(
    server: McpServer, notes: Notes, arguments: object, said: str
) -> None:
    answer = await call(server, "find", arguments)
    assert (answer.status, answer.code) == (200, INVALID_PARAMS)
    assert answer.error["message"] == f"Invalid arguments for find: {said}."
    assert notes.calls == 0


async def test_bad_arguments_are_http_400_in_the_modern_era(server: McpServer) -> None:
    answer = await ask_modern(server, modern("tools/call", {"name": "find", "arguments": {}}))
    assert (answer.status, answer.code) == (400, INVALID_PARAMS)


@pytest.mark.parametrize(
    "entries, said",
    [
        ([{"text": ""}], "entries[0].text must not be empty; entries[0].importance is required"),
        ([{"text": "a", "importance": 1, "x": 1}], "entries[0].x is not an argument of this tool"),
        ([7], "entries[0] must be an object"),
        ([{"text": "a", "importance": 1}] * 4, "entries must have at most 3 entries"),
    ],
)
async def test_nested_fields_are_named_by_their_path(
    server: McpServer, entries: object, said: str
) -> None:
    answer = await call(server, "keep", {"entries": entries})
    assert answer.error["message"] == f"Invalid arguments for keep: {said}."


async def test_what_was_sent_is_not_repeated_in_a_refusal(server: McpServer) -> None:
    for arguments in (
        {"query": "the secret note, longer than twenty"},
        {"query": ["the secret note"]},
        {"query": "ok", "tiers": ["the secret note"]},
        {"query": "ok", "limit": "the secret note"},
        "the secret note",
    ):
        answer = await call(server, "find", arguments)
        assert answer.raw is not None
        assert b"secret" not in answer.raw
        assert b"pydantic" not in answer.raw


async def test_many_faults_are_cut_short(server: McpServer) -> None:
    answer = await call(server, "count", {f"x{i}" * 100: i for i in range(50)})
    assert "and 45 more" in answer.error["message"]
    assert len(answer.error["message"]) < 700


# --- what goes wrong later ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "how, said",
    [
        ("not_found", "There is no note mem_1 here."),
        ("quota", "The vault's monthly token allowance is used up."),
        ("busy", "The embedder at example.test is busy. Wait 1.5 seconds before trying again."),
    ],
)
async def test_a_domain_error_is_plain_text_for_the_model(
    server: McpServer, how: str, said: str
) -> None:
    answer = await call(server, "fail", {"how": how})
    assert answer.status == 200
    assert answer.result["isError"] is True
    assert answer.text.startswith(said)
    assert "structuredContent" not in answer.result


async def test_what_a_schema_cannot_say_is_invalid_params_too(server: McpServer) -> None:
    answer = await call(server, "fail", {"how": "input"})
    assert answer.code == INVALID_PARAMS
    assert answer.error["message"] == "Invalid arguments for fail: how: must not be input."


async def test_a_bug_says_nothing_on_the_wire_and_no_text_in_the_log(
    server: McpServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        answer = await call(server, "fail", {"how": "bug"})
    assert answer.code == INTERNAL
    assert answer.raw is not None
    assert b"secret" not in answer.raw
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError
    assert "secret" not in record.getMessage()
    assert record.__dict__["data"] == {"method": "tools/call", "era": "legacy"}
