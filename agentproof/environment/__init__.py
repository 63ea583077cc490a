"""From a release to a venv that holds exactly the locked wheels: resolve, lock, keep, build, verify."""
