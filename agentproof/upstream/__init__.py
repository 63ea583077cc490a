"""From a bundle to the test that an upstream project merges, and to a smaller script of the same bug."""
