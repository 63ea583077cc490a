"""What is written to disk or signed: shapes, one encoding, and the pure functions over them."""
