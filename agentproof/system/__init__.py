"""The operating system: files written whole, temporary directories, processes, signals."""
