"""`python -m agentproof.cli` prints the reference of all commands."""

from .reference import reference

if __name__ == "__main__":
    print(reference(), end="")
