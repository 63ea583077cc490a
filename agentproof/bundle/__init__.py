"""A bundle and its parts as bytes: store, folder, zip, wheel; one reader each."""
