"""Whom the reader believes: keys, envelopes, allowed signers, keyring, agent."""
