"""From a reproduction to a signed bundle, and back again: record and replay."""
