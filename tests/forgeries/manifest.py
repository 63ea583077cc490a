"""Forged manifests: the target, its modules, the environment, what the recorder states, the reproduction."""

from collections.abc import Callable

from agentproof.bundle.wheel import read_wheel
from tests import forge
from tests.forge import Draft, Shape
from tests.forgeries._tools import Forger, Forgery, assign, member, on_bundle, reseal, target

EVIL = {**forge.WHEEL_FILES, "agents/run.py": b"class Runner: evil = True\n"}

EVIL_WHEEL = forge.wheel(EVIL)

INFO = "openai_agents-0.20.0.dist-info"

METADATA = b"Metadata-Version: 2.1\nName: openai-agents\nVersion: 0.20.0\n"

TRUE_RECORD = forge.record_of(
    {
        **forge.WHEEL_FILES,
        f"{INFO}/METADATA": METADATA,
    },
    f"{INFO}/RECORD",
)

SHORT_RECORD = b"".join(line for line in TRUE_RECORD.splitlines(True) if b"agents/run.py" not in line)


def _evil_record(record: bytes) -> bytes:
    return forge.wheel({**EVIL, f"{INFO}/METADATA": METADATA, f"{INFO}/RECORD": record}, record=False)


def exchanged_wheel(data: bytes, *, loaded: bool = True, **changes: object) -> Forger:
    """Exchange the wheel and everything that names it."""

    def make(draft: Draft) -> None:
        target(sha256=forge.sha256(data), size=len(data), **changes)(draft)
        draft.wheel = data
        if loaded:
            installed = read_wheel(data, draft.manifest["target"]["wheel"]).installed
            for module in draft.manifest["loaded"]:
                module["sha256"] = installed[module["path"]]
        draft.judged()

    return make


def swap_loaded(draft: Draft) -> None:
    """Exchange the digests of two modules."""
    first, second = draft.manifest["loaded"]
    first["sha256"], second["sha256"] = second["sha256"], first["sha256"]


def _swap_lock(draft: Draft) -> None:
    package = draft.manifest["environment"]["packages"][0]
    package.update(version="0.6.0", wheel="annotated_types-0.6.0-py3-none-any.whl", sha256="0" * 64)


def _renamed_script(draft: Draft) -> None:
    draft.files = {"other.py": draft.files["reproduction.py"]}
    draft.manifest["reproduction"].update(entry="other.py", files=["other.py"])
    draft.judged()


def _other_script(draft: Draft) -> None:
    draft.files["reproduction.py"] += b"# harmless\n"
    draft.judged()


def _put(**changes: object) -> Callable[[Shape], object]:
    return lambda part: part.update(changes)


def _expecting(change: Callable[[Shape], object]) -> Forger:
    """What a sound bundle says should happen is changed, and nothing else."""

    def make(draft: Draft) -> None:
        draft.__dict__.update(forge.draft_of_expectations().__dict__)
        change(draft.manifest["reproduction"]["expectations"])

    return make


def _expectation_with_its_claims(draft: Draft) -> None:
    """Removed with its claims, the evidence id kept."""
    draft.__dict__.update(forge.draft_of_expectations().__dict__)
    draft.manifest["reproduction"]["expectations"]["should_run"] = []
    evidence = draft.manifest["evidence_id"]
    del draft.manifest["reproduction"]["expectations"]["should_run"]
    draft.judged().manifest["evidence_id"] = evidence


def _without_expectations(draft: Draft) -> None:
    draft.__dict__.update(forge.draft_of_expectations().__dict__)
    del draft.manifest["reproduction"]["expectations"]


def _header_expectation_removed(draft: Draft) -> None:
    source = draft.files["reproduction.py"]
    draft.files["reproduction.py"] = source.replace(b"# ///\nprint", b'# should-print = "PAID"\n# ///\nprint')
    draft.judged()


FORGERIES = [
    # What should have happened
    Forgery("no expectation is forged", _expecting(lambda _: None), None),
    Forgery("a text to be printed exchanged", _expecting(_put(should_print=["x"])), "other_evidence"),
    Forgery("an expectation removed", _expecting(lambda part: part.pop("should_run")), "other_evidence"),
    Forgery("an expectation added", _expecting(_put(should_output=["refused", "x"])), "other_evidence"),
    Forgery("how often a tool should run", _expecting(_put(should_run=[{"tool": "pay"}])), "other_evidence"),
    Forgery("all expectations removed", _without_expectations, "other_evidence"),
    Forgery("an expectation removed with its claims", _expectation_with_its_claims, "other_evidence"),
    Forgery("expectations that contradict", _expecting(_put(should_not_run=["pay"])), "malformed"),
    Forgery("an expectation of the header's left out", _header_expectation_removed, "other_header"),
    Forgery("expectations without any", assign("reproduction.expectations", {}), "malformed"),
    Forgery("the sentence alone, which is stated", _expecting(_put(should="All is well.")), None),
    # The target and its wheel
    Forgery("target of another version", assign("target.version", "0.21.0"), "other_lock"),
    Forgery("target and lock of another version", target(version="0.21.0"), "other_lock"),
    Forgery(
        "target, lock and wheel name of another version",
        target(version="0.21.0", wheel="openai_agents-0.21.0-py3-none-any.whl"),
        "bad_wheel",
    ),
    Forgery(
        "target of another project",
        target(name="openai", wheel="openai-0.20.0-py3-none-any.whl"),
        "bad_wheel",
    ),
    Forgery("target digest of no wheel", target(sha256="0" * 64), "malformed"),
    Forgery("target size", target(size=1), "malformed"),
    Forgery(
        "a wheel from an index said to be from a checkout",
        assign("target.origin", {"kind": "checkout", "commit": "0" * 40}),
        None,
    ),
    Forgery("a commit of an index wheel", assign("target.origin.commit", "0" * 40), "malformed"),
    Forgery(
        "wheel changed, digests of modules kept", exchanged_wheel(EVIL_WHEEL, loaded=False), "other_module"
    ),
    Forgery("wheel changed with its RECORD and all digests", exchanged_wheel(EVIL_WHEEL), None),
    Forgery(
        "wheel changed, its RECORD kept",
        exchanged_wheel(_evil_record(TRUE_RECORD), loaded=False),
        "bad_record",
    ),
    Forgery(
        "wheel changed, RECORD without the file",
        exchanged_wheel(_evil_record(SHORT_RECORD), loaded=False),
        "bad_record",
    ),
    Forgery("wheel changed, RECORD empty", exchanged_wheel(_evil_record(b""), loaded=False), "bad_record"),
    Forgery(
        "wheel with a file more",
        exchanged_wheel(forge.wheel({**forge.WHEEL_FILES, "evil.pth": b"import os\n"})),
        None,
    ),
    Forgery("wheel replaced by a text", exchanged_wheel(b"no wheel", loaded=False), "bad_wheel"),
    Forgery("a second wheel", member("wheels/evil-1.0-py3-none-any.whl", b"x"), "unlisted"),
    # Loaded modules
    Forgery("digests of two modules exchanged", swap_loaded, "other_module"),
    Forgery("digest of a module", assign("loaded.0.sha256", "0" * 64), "other_module"),
    Forgery(
        "a module that the wheel does not hold",
        assign("loaded.1", {"module": "agents.evil", "path": "agents/evil.py", "sha256": "0" * 64}),
        "not_in_wheel",
    ),
    Forgery("a module under another name", assign("loaded.1.module", "agents.runner"), "other_module"),
    Forgery("a module from another place", assign("loaded.1.path", "agents/__init__.py"), "other_module"),
    Forgery("a module left out", lambda draft: draft.manifest["loaded"].pop(), None),
    # The environment
    Forgery(
        "lock downgraded in the manifest alone",
        on_bundle(lambda bundle: reseal(bundle, _swap_lock)),
        "other_lock",
    ),
    Forgery("lock downgraded and rendered again", _swap_lock, None),
    Forgery(
        "a package twice",
        lambda draft: draft.manifest["environment"]["packages"].insert(
            0, draft.manifest["environment"]["packages"][0]
        ),
        "malformed",
    ),
    Forgery(
        "packages in another order",
        lambda draft: draft.manifest["environment"]["packages"].reverse(),
        "malformed",
    ),
    Forgery(
        "the target not in the lock",
        lambda draft: draft.manifest["environment"]["packages"].pop(),
        "other_lock",
    ),
    Forgery(
        "a wheel named for another package",
        assign("environment.packages.0.wheel", "evil-0.7.0-py3-none-any.whl"),
        "other_lock",
    ),
    Forgery("a wheel of another version", assign("environment.packages.0.version", "0.6.0"), "other_lock"),
    Forgery(
        "a package's name not normalised",
        assign("environment.packages.0.name", "Annotated_Types"),
        "other_lock",
    ),
    Forgery(
        "a Python that is none",
        on_bundle(lambda bundle: reseal(bundle, assign("environment.python.version", "3"))),
        "malformed",
    ),
    Forgery("another Python", assign("environment.python.version", "3.14.0"), None),
    Forgery("another platform", assign("environment.platform.machine", "aarch64"), None),
    Forgery("another day of resolution", assign("environment.as_of", "2020-01-01"), None),
    Forgery("more installed files", assign("environment.installed_files", 9999), None),
    # What the recorder states
    Forgery("another recorder", assign("recorder.sha256", "0" * 64), None),
    Forgery("better isolation", assign("isolation.self_test", "not_made"), None),
    Forgery("conduct said to be allowed", assign("conduct", {"allowed": True}), None),
    Forgery(
        "a private name in a file that is none of the reproduction's",
        assign("conduct", {"private_reads": [{"name": "_x", "file": "other.py", "line": 1}]}),
        "malformed",
    ),
    Forgery(
        "a private name on a line that is not there",
        assign("conduct", {"private_reads": [{"name": "_x", "file": "reproduction.py", "line": 99}]}),
        "malformed",
    ),
    Forgery("more repeats", assign("recordings.0.repeats", 99), None),
    Forgery("no repeats", assign("recordings.0.repeats", 0), "malformed"),
    Forgery("one repeat that agrees", assign("recordings.0.repeats", 1), "malformed"),
    Forgery("differing repeats without differences", assign("recordings.0.agreement", "differ"), "malformed"),
    Forgery("a gap in the coverage", assign("coverage", [{"what": "spans", "why": "forged"}]), None),
    # The reproduction
    Forgery("another title", assign("reproduction.title", "Nothing to see"), "other_header"),
    Forgery("another reference", assign("reproduction.reference", "evil/evil#1"), "other_header"),
    Forgery("no title", lambda draft: draft.manifest["reproduction"].pop("title"), "other_header"),
    Forgery("arguments that it did not have", assign("reproduction.arguments", ["--fast"]), "other_run"),
    Forgery("another entry", _renamed_script, "other_run"),
    Forgery("the script changed, ids recomputed", _other_script, None),
    Forgery(
        "the script changed, evidence id kept",
        lambda draft: draft.files.update({"reproduction.py": draft.files["reproduction.py"] + b"#\n"}),
        "other_evidence",
    ),
    Forgery(
        "a file in a reserved place",
        lambda draft: draft.manifest["reproduction"].update(files=["pylock.toml", "reproduction.py"]),
        "malformed",
    ),
    Forgery("an entry that is no file", assign("reproduction.entry", "absent.py"), "malformed"),
    Forgery(
        "a header that cannot be read",
        lambda draft: draft.files.update({"reproduction.py": b"# /// script\n# x = [\n# ///\n"}),
        "bad_header",
    ),
]
