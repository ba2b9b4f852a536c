"""A process that dies at any step of a vault's life leaves nothing readable, lost or half done."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ALICE = {"texts": ["alice 0", "alice 1", "alice 2"], "usage": 30}

Found = dict[str, Any]


def crashes(folder: Path, operation: str, stride: int, twice: bool) -> list[Found]:
    """What was found after a crash at each step; the last one ended by itself."""
    arguments = [operation, str(folder), str(stride), "twice" if twice else "once"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.crashing", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) > 2
    assert found[-1]["ended"]
    return found


def check_everybody(found: Found) -> None:
    """What holds whatever was cut short: Bob lost nothing, nothing is half done."""
    bob = found["vaults"]["bob"]
    assert (bob["status"], bob["texts"], bob["keys"]) == ("ready", ["bob 0"], [1])
    assert found["unfinished"] == 0
    assert found["parts"] == []
    assert found["chain"][0] is None
    for vault in found["vaults"].values():
        assert vault["pending"] is None
        assert vault["status"] in ("ready", "erased")
        # Keys, files and control agree: each names the one generation, or nothing is left.
        held = [vault["generation"]] if vault["status"] == "ready" else []
        assert vault["keys"] == held
        assert [name.split(".")[1] for name in vault["files"]] == [str(g) for g in held]


def check_creation(found: Found) -> None:
    assert found["vaults"]["alice"].items() >= ALICE.items()
    carol = found["vaults"].get("carol")
    if carol is None:
        assert not found["ended"]
    else:
        assert (carol["status"], carol["texts"]) == ("ready", [])


def check_forgetting(found: Found) -> None:
    alice = found["vaults"]["alice"]
    assert alice["status"] == "ready"
    if alice["generation"] == 1:
        assert not found["ended"]
        assert alice.items() >= ALICE.items()
        assert found["certificates"] == []
        return
    assert (alice["generation"], alice["texts"], alice["usage"]) == (2, [], 30)
    assert not found["old key"]
    check_proof(found, "forget_all")


def check_erasure(found: Found) -> None:
    alice = found["vaults"]["alice"]
    if alice["status"] == "ready":
        assert not found["ended"]
        assert alice.items() >= ALICE.items()
        assert found["certificates"] == []
        return
    assert (alice["texts"], alice["files"], alice["keys"]) == ("NotFound", [], [])
    assert not found["old key"]
    check_proof(found, "erase")


def check_proof(found: Found, kind: str) -> None:
    [proof] = found["certificates"]
    assert (proof["kind"], proof["memories_before"], proof["memories_after"]) == (kind, 3, 0)
    assert proof["mirror_before"] == 3
    assert proof["key_versions_destroyed"] == [1]
    assert proof["exported_key_versions"] == [1]
    assert found["chain"] == [None, 1]


CHECKS = {"create": check_creation, "forget": check_forgetting, "erase": check_erasure}


@pytest.mark.parametrize("operation, check", CHECKS.items())
def test_a_crash_at_some_steps_is_taken_up(tmp_path: Path, operation: str, check: Any) -> None:
    for found in crashes(tmp_path, operation, 7, twice=False):
        check_everybody(found)
        check(found)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("stride, twice", [(1, False), (4, True)], ids=["once", "twice"])
@pytest.mark.parametrize("operation, check", CHECKS.items())
def test_a_crash_at_every_step_and_others_while_it_is_taken_up(
    tmp_path: Path, operation: str, check: Any, stride: int, twice: bool
) -> None:
    for found in crashes(tmp_path, operation, stride, twice=twice):
        check_everybody(found)
        check(found)
