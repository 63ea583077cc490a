"""Unit tests of the recorder, without any SDK."""
