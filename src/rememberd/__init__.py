"""rememberd: a self-hosted memory server. This module holds the version, and what must be so before
anything else is imported; it imports nothing but the standard library's `os`.
"""

import os

__version__ = "0.1.0"

# A plugin of another package would see every text that is validated here; and looking takes 60 ms.
os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
