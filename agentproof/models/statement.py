"""What is signed: an in-toto Statement v1, one per role (https://github.com/in-toto/attestation)."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from ._wire import Sha256, Text, Wire
from .values import Value


class Uri(StrEnum):
    """Each URI and media type, spelled once."""

    STATEMENT = "https://in-toto.io/Statement/v1"
    PAYLOAD = "application/vnd.in-toto+json"
    TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
    SVR = "https://in-toto.io/attestation/svr/v0.1"
    ENDORSED = "https://agentproof.dev/attestation/endorsed/v0"


class Digest(Wire):
    """A DigestSet with the one algorithm that agentproof uses."""

    sha256: Sha256


class Resource(Wire):
    """A ResourceDescriptor: a name and its digest."""

    name: Text
    digest: Digest


class TestResult(Wire):
    """The test-result v0.1 predicate, for the role `recorded`."""

    __test__ = False  # pytest: this is no test class

    result: Literal["PASSED", "WARNED", "FAILED"]
    configuration: tuple[Resource, ...]
    """The lock, the reproduction's files and the recorder."""
    passedTests: tuple[Text, ...]
    warnedTests: tuple[Text, ...]
    failedTests: tuple[Text, ...]
    """Claim ids by status; `not_observed` ones are the warned."""
    evidence_id: Sha256


class Statement(Wire):
    """An in-toto Statement v1 about a manifest and a target wheel."""

    type_: Annotated[Literal["https://in-toto.io/Statement/v1"], Field(alias="_type")]
    subject: tuple[Resource, ...]
    predicateType: Text
    predicate: Value
