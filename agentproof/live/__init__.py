"""Live models: a relay on the host that asks a provider once, and answers from the recording ever after."""
