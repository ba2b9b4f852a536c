"""Models that turn text into vectors. Nothing here knows memories, vaults or databases."""
