"""Bundles as tests, and failing tests as bundles."""
