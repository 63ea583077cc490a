"""Stdlib only, runs in the launcher too: remove a directory tree that somebody else filled.

A script may leave directories that nobody can enter, or nested deeper than a path can be long or a
function can recurse (shutil.rmtree does). Each directory is therefore moved to the top before it is
opened, so that no path has more than two steps.
"""

import os
import stat


def remove_tree(base: str) -> None:
    """Remove `base` and all below it, as far as the operating system allows. Links are not followed.

    Whatever still runs in there may add to it meanwhile; end it first.
    """
    try:
        if stat.S_ISDIR(os.lstat(base).st_mode):
            os.chmod(base, 0o700)
        top = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        moved = 0
        while True:
            names = _names(top)
            before = moved
            left = 0
            for name in names:
                if not _is_directory(name, top):
                    left += not _unlink(name, top)
                    continue
                moved = _empty(name, top, moved)
                try:
                    os.rmdir(name, dir_fd=top)
                except OSError:
                    left += 1
            # What was moved to the top comes next; what cannot be removed ends the loop.
            if moved == before and (left or not _names(top)):
                break
    finally:
        os.close(top)
    try:
        os.rmdir(base)
    except OSError:
        return


def _names(directory: int) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _is_directory(name: str, parent: int) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _unlink(name: str, parent: int) -> bool:
    try:
        os.unlink(name, dir_fd=parent)
    except OSError:
        return False
    return True


def _empty(name: str, top: int, moved: int) -> int:
    """Remove the files in a directory and move its directories to the top; how many were moved so far."""
    try:
        os.chmod(name, 0o700, dir_fd=top)
        directory = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
    except OSError:
        return moved
    try:
        for each in _names(directory):
            if not _is_directory(each, directory):
                _unlink(each, directory)
                continue
            try:
                # Moving a directory changes its `..`, which takes the right to write it.
                os.chmod(each, 0o700, dir_fd=directory)
                os.rename(each, f"moved-{moved}-{os.getpid()}", src_dir_fd=directory, dst_dir_fd=top)
            except OSError:
                continue
            moved += 1
    finally:
        os.close(directory)
    return moved
