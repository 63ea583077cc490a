"""Many targets: compare, bisect, matrix."""
