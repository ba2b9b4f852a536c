"""Models that turn text into vectors. Nothing here knows memories, vaults or databases."""

import os

# onnxruntime (1.32 and later) reports its use to its maker unless it is told not to before it is
# loaded. This server talks to nobody whom its owner did not choose.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
