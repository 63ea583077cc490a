"""From a violated rule to lines of the SDK: replays with a probe, two releases, shared objects."""
