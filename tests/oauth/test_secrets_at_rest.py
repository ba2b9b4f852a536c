"""Marked secrets go through everything that takes one; then files and logs are searched for them.

What is found in clear anywhere but in its owner's hands is a leak, whoever wrote it there.
"""

from pathlib import Path

from tests.oauth.person import Person
from tests.oauth.program import Program
from tests.oauth.world import World


def held_by(folder: Path) -> bytes:
    """Every byte of every file below."""
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


def test_a_code_is_kept_as_a_hash_also_while_it_is_good(world: World, alice: Person) -> None:
    app = Program.registered(world)
    code = app.code(alice, app.link())
    assert alice.email.encode() in held_by(world.data)  # or the search proves nothing
    assert code.encode() not in held_by(world.data)
