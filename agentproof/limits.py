"""Every cap on what a bundle may hold, in one place; each is checked before anything is parsed.

An honest bundle of one reproduction holds about 60 members and 3 MB with its wheel. GitHub takes
attachments of up to 25 MB.
"""

MAX_MEMBERS = 4096
MAX_ATTESTATIONS = 64
MAX_FILES = MAX_MEMBERS + MAX_ATTESTATIONS + 1
"""Of a bundle: members, attestations, manifest."""
MAX_PATH_DEPTH = 8
"""Directories below a bundle's own."""
MAX_MEMBER_BYTES = 24 * 2**20
MAX_BUNDLE_BYTES = 24 * 2**20
"""All files of a bundle together, and its zip."""
MAX_MANIFEST_BYTES = 4 * 2**20
MAX_STATE_BYTES = 4 * 2**20
MAX_LINES = 200_000
"""Lines of one JSON document. In the canonical encoding each value stands on a line of its own, so this
bounds what a parser builds from it."""
MAX_KEYS = 10_000
"""Keys of one object; each unknown one is an error to be held until all are found."""
MAX_ATTESTATION_BYTES = 2**18
MAX_TEXT_BYTES = 48 * 2**20
"""A text that may hold bundles, such as an issue."""
MAX_TEXT_BLOCKS = 64
MAX_XZ_MEMORY = 40 * 2**20
"""What unpacking one takes; its dictionary has at most 32 MiB."""
MAX_KEY_BYTES = 2**16
MAX_TRUST_BYTES = 2**20

MAX_POINTERS = 2**22
"""Letters of all pointers to what differs between two documents."""
MAX_CHANGES_BYTES = 2**24
"""All changes of states in the evidence, where one pair of states may be seen again and again."""
MAX_REFERRED_BYTES = 2**27
"""The states that the events of a bundle refer to, each as often as it is referred to."""

MAX_EVENTS = 15_000
"""Events of one mode of one run of a script."""
MAX_EVENT_EDGES = 200_000
"""How often they come directly after one another; a trace of more has too many lines for any check."""
MAX_LANE_DEPTH = 500
"""Tasks and threads that start one another."""
MAX_EVENT_DEPTH = 150
"""Nesting of what an event holds; a parser of the canonical encoding takes 200 levels."""
MAX_TOLD_BYTES = 12 * 2**20
"""Text that the events of one mode of one run tell, each state once, as an interpreter holds it."""
MAX_TOLD_VALUES = 400_000
"""Keys and values, in the same way."""
MAX_CLAIMS = 2_000
"""Claims that a header and its script author, each counted in each mode."""
MAX_CLAIM_LOOKS = 10_000_000
"""Authored claims times the events of the traces that they may look at."""
MAX_LOOKED_AT_BYTES = 2**25
"""What `value-at` claims look at, as compact JSON, each place once."""

MAX_KEPT_BYTES = 2**20
"""Of the traces and states, each, that are kept parsed for the next bundle (ten times that in memory)."""
MAX_KEPT_MANIFESTS = 2**18
MAX_KEPT_JUDGEMENTS = 64

MAX_EXCHANGES_BYTES = 16 * 2**20
"""What a script with a live model asked and was answered."""

MAX_WHEEL_BYTES = 64 * 2**20
"""A target wheel."""
MAX_WHEEL_FILES = 20_000
MAX_WHEEL_UNPACKED = 256 * 2**20
MAX_WHEEL_TEXT = 4 * 2**20
"""METADATA and RECORD."""
MAX_WHEEL_NAME = 200
MAX_DEPENDENCY_FILES = 100_000
"""Of a wheel that is installed beside the target, and goes into no bundle."""
MAX_DEPENDENCY_UNPACKED = 4 * 2**30
MAX_DEPENDENCY_TEXT = 16 * 2**20
MAX_LOCK_BYTES = 32 * 2**20
"""A lock file that the reader gives with `--known`."""

MAX_TREE_FILES = 200_000
"""Files of a checkout or of site-packages that the reader gives."""
