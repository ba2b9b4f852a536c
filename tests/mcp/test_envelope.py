"""Whatever bytes arrive, the answer is one message or one JSON-RPC error, and it quotes nothing."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rememberd.mcp import envelope
from rememberd.mcp.envelope import Message, RpcError

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
SECRET = "ORCHID-7419"


def refusal(raw: bytes) -> RpcError:
    with pytest.raises(RpcError) as caught:
        envelope.parse(raw)
    return caught.value


def number_of(raw: bytes) -> int | None:
    try:
        envelope.parse(raw)
    except RpcError as error:
        return error.number
    return None


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"ORCHID-7419",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"} x',
        b"\xff\xfe{}",
        b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
        '{"jsonrpc":"2.0","id":1,"method":"ping"}'.encode("utf-16"),
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"ORCHID-7419":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":-Infinity}}',
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"b":1,"b":"ORCHID-7419"}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 100_000,
        b'{"jsonrpc":"2.0","id":' + b"9" * 5_000 + b',"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"pi\x00ng"}',
    ],
    ids=lambda raw: repr(raw[:40]),
)
def test_what_is_not_json_is_a_parse_error_that_quotes_nothing(raw: bytes) -> None:
    error = refusal(raw)
    assert error.number == PARSE_ERROR
    assert SECRET not in error.message
    assert error.request_id is None


@pytest.mark.parametrize(
    "body, request_id",
    [
        ("ORCHID-7419", None),
        (None, None),
        (17, None),
        ([], None),
        ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], None),
        ({"id": 1, "method": "ping"}, 1),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, 1),
        ({"jsonrpc": 2.0, "id": "a", "method": "ping"}, "a"),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": {"a": SECRET}, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": 1}, 1),
        ({"jsonrpc": "2.0", "id": 1, "method": 7}, 1),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [SECRET]}, 1),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": SECRET}, 1),
        ({"jsonrpc": "2.0", "id": 1, "result": {"a": SECRET}}, 1),
    ],
)
def test_what_is_not_one_message_is_an_invalid_request(body: object, request_id: object) -> None:
    error = refusal(json.dumps(body).encode())
    assert error.number == INVALID_REQUEST
    assert error.request_id == request_id
    assert SECRET not in error.message


def test_a_request_is_read() -> None:
    raw = b' {"jsonrpc":"2.0","id":"x","method":"m","params":{"a":[1]},"extra":1}\n'
    assert envelope.parse(raw) == Message("m", {"a": [1]}, "x")


@pytest.mark.parametrize("params", [{}, {"params": None}])
def test_absent_and_null_params_are_none_at_all(params: dict[str, None]) -> None:
    body = {"jsonrpc": "2.0", "id": 0, "method": "m", **params}
    assert envelope.parse(json.dumps(body).encode()) == Message("m", {}, 0)


def test_a_message_without_id_is_a_notification() -> None:
    message = envelope.parse(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    assert message.id is None


def test_an_id_comes_back_as_it_was_sent_even_with_a_lone_surrogate() -> None:
    raw = rb'{"jsonrpc":"2.0","id":"\ud83d","method":"ping"}'
    message = envelope.parse(raw)
    assert message.id is not None
    answer = envelope.result(message.id, {})
    assert json.loads(answer)["id"] == "\ud83d"
    answer.decode("utf-8", "strict")


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_crash_the_parser(raw: bytes) -> None:
    assert number_of(raw) in (None, PARSE_ERROR, INVALID_REQUEST)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result"]), JSON)
    | st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "id": JSON, "method": JSON, "params": JSON})
)
def test_no_json_crashes_the_parser(body: dict[str, object]) -> None:
    assert number_of(json.dumps(body).encode()) in (None, PARSE_ERROR, INVALID_REQUEST)
