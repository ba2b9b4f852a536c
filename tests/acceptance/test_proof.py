"""`rememberd try`: the promise to a newcomer, kept in seconds and without a trace."""

from pathlib import Path

from tests.cli.program import Place


def test_one_app_finds_what_another_stored(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    place = Place(tmp_path, {"TMPDIR": str(temporary), "REMEMBERD_PORT": "not even a number"})
    done = place.run_anew("try")
    assert done.code == 0, done.err
    first, second = done.out.split("Second app")
    assert "→ store_memory  the demo project's release phrase is ORCHID-7419" in first
    assert "MCP 2026-07-28" in first
    assert "MCP 2025-11-25" in second
    assert "← the demo project's release phrase is ORCHID-7419" in second
    assert done.err == ""
    assert list(temporary.iterdir()) == []
    assert not place.data.exists()
