"""How this program is called again: the commands that it prints, to be copied as they stand.

What is printed must work in any folder and reach the same data directory.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from rememberd.settings import Settings
from rememberd.store.place import DataDirectory


def command(settings: Settings, words: str) -> str:
    """The line that does `words`, such as `keys export FILE`, on this run's data directory."""
    return DataDirectory(settings.data).command(words, program=program())


def program() -> str:
    """`rememberd` where that leads to this program, else how it was started, as a whole path."""
    started = sys.argv[0]
    if Path(started).name == "__main__.py":
        return shlex.join([sys.executable, "-m", "rememberd"])
    if os.sep not in started:
        return started  # the system found it by its name
    name, path = Path(started).name, Path(started).absolute()
    found = shutil.which(name)
    return name if found and Path(found).resolve() == path.resolve() else shlex.quote(str(path))
