"""How long until a started server answers, beside the bare imports that no such server avoids."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import sizes
from bench.serving import data_directory, serving
from bench.tables import table

_IMPORTS = "import mcp_types, starlette.applications, uvicorn, apsw"
NOTES = f"""\
Medians, taken in turns. The server is `rememberd serve` until `/health` answers; the imports are
`python -c "{_IMPORTS}"`. CPU is the processor time of the started process.
"""


@dataclass(frozen=True, slots=True)
class Start:
    seconds: float
    cpu: float


def main(arguments: Sequence[str] | None = None) -> int:
    size = sizes.parse(arguments, "startup", __doc__)
    with data_directory() as folder:
        rows = _rows(folder, size.starts)
    print(table(rows), NOTES, sep="\n\n")
    return 0


def _rows(folder: Path, starts: int) -> list[dict[str, str]]:
    used = folder / "used"
    _serve(used)  # which makes it
    programs: dict[str, Callable[[int], Start]] = {
        "python alone": lambda _: _run("pass"),
        "bare imports": lambda _: _run(_IMPORTS),
        "server": lambda _: _serve(used),
        "server, on an empty directory": lambda number: _serve(folder / f"new-{number}"),
    }
    found: dict[str, list[Start]] = {name: [] for name in programs}
    for number in range(starts):
        for name, start in programs.items():
            found[name].append(start(number))
    bare = found["bare imports"]
    return [
        {
            "started": name,
            "time ÷ bare imports": f"{_ratio(these, bare, lambda start: start.seconds):.2f}",
            "CPU ÷ bare imports": f"{_ratio(these, bare, lambda start: start.cpu):.2f}",
            "seconds": f"{median(start.seconds for start in these):.2f}",
            "CPU seconds": f"{median(start.cpu for start in these):.2f}",
        }
        for name, these in found.items()
    ]


def _ratio(these: Sequence[Start], those: Sequence[Start], what: Callable[[Start], float]) -> float:
    return median(map(what, these)) / median(map(what, those))


def _serve(data: Path) -> Start:
    began = time.perf_counter()
    with serving(data) as server:
        return Start(time.perf_counter() - began, server.cpu_seconds())


def _run(program: str) -> Start:
    began, before = time.perf_counter(), _children()
    subprocess.run([sys.executable, "-c", program], check=True)
    return Start(time.perf_counter() - began, _children() - before)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
