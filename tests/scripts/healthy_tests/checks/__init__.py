"""What the tests of both files check."""
