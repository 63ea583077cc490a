"""The single steps of `agentproof.check`, and what they compare a bundle with."""
