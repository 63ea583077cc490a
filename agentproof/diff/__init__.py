"""Two recordings side by side: pairs, alignment, rows of a comparison. Pure."""
