"""The single steps of `agentproof.check.bundle`, and what they compare a bundle with."""
