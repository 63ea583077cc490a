"""`python -m agentproof.claims`: print the page of all claims."""

from . import AUTHORED, INVARIANTS
from .catalogue import catalogue

if __name__ == "__main__":
    print(catalogue(INVARIANTS.values(), AUTHORED.values()), end="")
