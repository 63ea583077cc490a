"""Every cap on what a bundle may hold, in one place; each is checked before anything is parsed.

An honest bundle of one reproduction holds about 60 members and 3 MB with its wheel. GitHub takes
attachments of up to 25 MB.
"""

MAX_MEMBERS = 4096
MAX_MEMBER_BYTES = 32 * 2**20
MAX_BUNDLE_BYTES = 64 * 2**20
MAX_MANIFEST_BYTES = 8 * 2**20
MAX_STATE_BYTES = 8 * 2**20
MAX_ATTESTATIONS = 64
MAX_ATTESTATION_BYTES = 2**18
MAX_KEY_BYTES = 2**16
MAX_TRUST_BYTES = 2**20
