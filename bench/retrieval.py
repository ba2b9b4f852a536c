"""Retrieval quality on LoCoMo, through the running server: ten conversations, a vault each.

The data set is for evaluation only (CC BY-NC 4.0): it is read from beside the checkout and never
becomes part of it. Without it, this says so and ends.
"""

from __future__ import annotations

import argparse
import http.client
import json
import math
import re
import socket
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from bench import requests
from bench.serving import Server, data_directory, serving

DATA = Path(__file__).parents[2] / "shared" / "data" / "locomo10.json"
ADVERSARIAL = 5
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
MOST = 250  # rows a search gives at most
METRICS = ("R@5", "R@10", "R@20", "hit@10", "nDCG@10", "MRR")

#: Run after run on the same stored memories: what is measured, and under which settings.
RUNS: dict[str, dict[str, str]] = {
    "default": {},
    "without author boost": {"author_boost": "false"},
    "words only": {"embedder": "off", "author_boost": "false"},
}
#: Least values, in percent: (run, questions, metric).
BARS = {
    ("default", "all but adversarial", "R@10"): 75,
    ("default", "all but adversarial", "hit@10"): 82,
    ("default", "all but adversarial", "nDCG@10"): 57,
    ("default", "adversarial", "R@10"): 85,
    ("default", "all", "session R@10"): 93.5,
    ("without author boost", "all but adversarial", "R@10"): 72,
    ("without author boost", "all but adversarial", "hit@10"): 79,
    ("without author boost", "all but adversarial", "nDCG@10"): 52,
    ("without author boost", "adversarial", "R@10"): 85,
    ("without author boost", "all", "session R@10"): 93.5,
    ("words only", "all but adversarial", "R@10"): 67,
}


@dataclass(frozen=True, slots=True)
class Turn:
    text: str  #: opens with who said it
    session: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    category: int
    evidence: frozenset[int]  #: positions of the turns that answer it


@dataclass(frozen=True, slots=True)
class Conversation:
    turns: list[Turn]
    questions: list[Question]


@dataclass(slots=True)
class Vault:
    """One conversation as stored: its key and, for each memory that a search shows, its turns."""

    conversation: Conversation
    key: str
    turns: dict[tuple[str, datetime], list[int]] = field(
        default_factory=lambda: defaultdict[tuple[str, datetime], list[int]](list)
    )


Scores = dict[str, float]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when something is below its bar."""
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="locomo10.json")
    parser.add_argument("--quick", action="store_true", help="one conversation only, no bars")
    options = parser.parse_args(arguments)
    if not options.data.is_file():
        print(f"LoCoMo is not here: {options.data.name} is not ours to ship. Nothing measured.")
        return 0
    found = measure(conversations(options.data)[: 1 if options.quick else None])
    print(table(found))
    missed = [] if options.quick else below(found)
    for line in missed:
        print(line)
    return 1 if missed else 0


def measure(conversations: Sequence[Conversation]) -> dict[str, dict[str, Scores]]:
    """For each run, and in it for each group of questions, the mean of every metric in percent."""
    with data_directory() as data:
        with serving(data) as server:
            vaults = [_fill(server, number, one) for number, one in enumerate(conversations)]
            for number in range(len(vaults)):
                server.wait_until_indexed(_name(number))
        found: dict[str, dict[str, Scores]] = {}
        for run, settings in RUNS.items():
            with serving(data, settings) as server:
                asked = [scored for vault in vaults for scored in _ask(server, vault)]
            found[run] = {group: _mean(asked, group) for group in ("all but adversarial", "all")}
            found[run] |= {name: _mean(asked, name) for name in CATEGORIES.values()}
            print(f"{run}: done", file=sys.stderr, flush=True)
        return found


def conversations(file: Path) -> list[Conversation]:
    return [_conversation(sample) for sample in json.loads(file.read_bytes())]


def scores(shown: Sequence[int], question: Question) -> Scores:
    """How well an order of turns answers; `shown` are positions of turns, best first, each once."""
    hits = [turn in question.evidence for turn in shown]
    count = len(question.evidence)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(count, 10)))
    gained = sum(hit / math.log2(rank + 2) for rank, hit in enumerate(hits[:10]))
    return {
        "R@5": sum(hits[:5]) / count,
        "R@10": sum(hits[:10]) / count,
        "R@20": sum(hits[:20]) / count,
        "hit@10": float(any(hits[:10])),
        "nDCG@10": gained / ideal,
        "MRR": 1 / (hits.index(True) + 1) if any(hits) else 0,
    }


def below(found: dict[str, dict[str, Scores]]) -> list[str]:
    return [
        f"below its bar: {run}, {group}, {metric} {found[run][group][metric]:.1f} < {bar}"
        for (run, group, metric), bar in BARS.items()
        if found[run][group][metric] < bar
    ]


def table(found: dict[str, dict[str, Scores]]) -> str:
    """As Markdown, in percent."""
    columns = (*METRICS, "session R@10")
    lines = [
        f"| run | questions | {' | '.join(columns)} |",
        f"|---|---|{'---|' * len(columns)}",
    ]
    for run, groups in found.items():
        for group, values in groups.items():
            cells = " | ".join(f"{values[column]:.1f}" for column in columns)
            lines.append(f"| {run} | {group} | {cells} |")
    return "\n".join(lines)


# --- the data set ------------------------------------------------------------------------------


def _conversation(sample: dict[str, Any]) -> Conversation:
    turns: list[Turn] = []
    places: dict[str, int] = {}
    for session, at, said in _sessions(sample["conversation"]):
        for turn in said:
            places[turn["dia_id"]] = len(turns)
            shared = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            turns.append(Turn(f"{turn['speaker']}: {turn['text']}{shared}", session, at))
    questions: list[Question] = []
    for asked in sample["qa"]:
        named = re.findall(r"D(\d+):(\d+)", " ".join(asked["evidence"]))
        ids = {f"D{int(session)}:{int(turn)}" for session, turn in named}
        evidence = frozenset(places[id] for id in ids if id in places)
        if evidence:
            questions.append(Question(asked["question"], asked["category"], evidence))
    return Conversation(turns, questions)


def _sessions(conversation: dict[str, Any]) -> Iterator[tuple[int, datetime, list[dict[str, Any]]]]:
    number = 1
    while date := conversation.get(f"session_{number}_date_time"):
        at = datetime.strptime(date.upper(), "%I:%M %p ON %d %B, %Y").replace(tzinfo=UTC)
        yield number, at, conversation.get(f"session_{number}", [])
        number += 1


# --- through the server ------------------------------------------------------------------------


def _name(number: int) -> str:
    return f"conversation-{number}"


def _fill(server: Server, number: int, conversation: Conversation) -> Vault:
    vault = Vault(conversation, server.new_vault(_name(number)))
    client = _Client(server, vault.key)
    for place, turn in enumerate(conversation.turns):
        vault.turns[turn.text, turn.at].append(place)
        client.call(
            "store_memory",
            content=turn.text,
            source_context=f"session {turn.session}",
            occurred_at=turn.at.isoformat(),
        )
    return vault


def _ask(server: Server, vault: Vault) -> Iterator[tuple[int, Scores]]:
    client = _Client(server, vault.key)
    for question in vault.conversation.questions:
        rows = client.call("search_memories", query=question.text, limit=MOST)["memories"]
        shown = _turns(vault, rows)
        yield (
            question.category,
            scores(shown, question) | {"session R@10": _sessions_found(vault, shown, question)},
        )


def _turns(vault: Vault, rows: list[dict[str, Any]]) -> list[int]:
    """Positions of the turns shown; equal turns of a session count in the order they were said."""
    used: dict[tuple[str, datetime], int] = defaultdict(int)
    shown: list[int] = []
    for row in rows:
        key = (row["text"], datetime.fromisoformat(row["occurred_at"]))
        shown.append(vault.turns[key][used[key]])
        used[key] += 1
    return shown


def _sessions_found(vault: Vault, shown: Sequence[int], question: Question) -> float:
    """Of the sessions with evidence, how many are among the ten whose best turn comes first."""
    turns = vault.conversation.turns
    first_ten = list(dict.fromkeys(turns[place].session for place in shown))[:10]
    wanted = {turns[place].session for place in question.evidence}
    return len(wanted & set(first_ten)) / len(wanted)


def _mean(asked: Sequence[tuple[int, Scores]], group: str) -> Scores:
    chosen = [
        values
        for category, values in asked
        if group in ("all", CATEGORIES[category])
        or (group == "all but adversarial" and category != ADVERSARIAL)
    ]
    return {metric: 100 * fmean(values[metric] for values in chosen) for metric in chosen[0]}


class _Client:
    """Calls tools over one connection that stays open."""

    def __init__(self, server: Server, key: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        self._key = key

    def call(self, tool: str, **arguments: Any) -> Any:
        """The structured result. Raises RuntimeError when the call is refused."""
        self._socket.sendall(requests.call(self._key, tool, arguments))
        with http.client.HTTPResponse(self._socket, method="POST") as response:
            response.begin()
            answer = json.loads(response.read())
        result = answer.get("result", {"isError": True})
        if result.get("isError"):
            raise RuntimeError(f"{tool} was refused: {answer}")
        return result["structuredContent"]


if __name__ == "__main__":
    sys.exit(main())
