"""`python -m agentproof` is the command `agentproof`."""

from .cli import main

if __name__ == "__main__":
    main()
