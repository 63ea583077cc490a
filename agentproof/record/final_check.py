"""Check what is about to be written: a recording that no reader would take is never written.

It is checked as by a reader who trusts nobody and holds no sources. What was recorded may be over a
limit, which is told as that. Anything else that makes it INVALID is a fault of agentproof: nothing is
written under the wanted name, and the recording is kept for the report.
"""

import zipfile
from pathlib import Path

from ..bundle.store import WHEELS, Bundle, bundle_id, files_of, is_limit, refused
from ..check.bundle import Reader, check_bundle
from ..check.comparison import report_comparison
from ..check.members import is_comparison
from ..environment.wheel_store import cache_root
from ..errors import BundleError, RecorderError
from ..system import temporary
from ..trust import signing

REFUSED = "refused"
"""The directory of the cache that such recordings are kept in."""
_KEPT = 4


def check_sound(bundle: Bundle) -> None:
    """Refuse a recording or comparison that a check would call INVALID.

    One that is yet to be signed is checked as if a key of its own had signed it.

    Raises:
        CannotDoError: it is over a limit of the format.
        RecorderError: the check fails otherwise; the recording is kept, and its place named.
    """
    if not bundle.attestations:
        name, envelope = signing.attest_recorded(bundle.manifest, signing.generate_key())
        bundle = Bundle(bundle.manifest, bundle.members, {name: envelope})
    if is_comparison(bundle):
        report = report_comparison(bundle, reader=Reader(), label="the comparison").report
    else:
        report = check_bundle(bundle, reader=Reader()).report
    if report.status != "INVALID":
        return
    failed = next(each for each in report.checks if each.status == "failed")
    reason = failed.reason or "malformed"
    if is_limit(reason):
        raise refused(BundleError(reason, failed.detail))
    raise fault(f"{failed.name}: {failed.detail} ({reason})", bundle)


def fault(what: str, bundle: Bundle) -> RecorderError:
    """The error for a recording that `what` makes useless; keeps it."""
    kept = _keep(bundle)
    where = f"; the recording is kept in {kept}, without its wheel" if kept else ""
    return RecorderError(
        f"the recording fails its own check, so nothing was written: {what}{where}",
        hint="a fault of agentproof, not of your script: please report it"
        + (f", and attach {kept.name} if you may show it" if kept else ""),
    )


def _keep(bundle: Bundle) -> Path | None:
    """Its files as a common zip, which is no bundle; None where it cannot be kept."""
    directory = cache_root() / REFUSED
    path = directory / f"refused-{bundle_id(bundle)[:16]}.zip"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        older = sorted(directory.glob("refused-*.zip"), key=lambda each: each.stat().st_mtime)
        for each in older[: max(0, len(older) - _KEPT + 1)]:
            each.unlink(missing_ok=True)
        with temporary.directory("refused") as base:
            with zipfile.ZipFile(base / path.name, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, data in files_of(bundle):
                    if not name.startswith(WHEELS):
                        archive.writestr(name, data)
            temporary.write(path, (base / path.name).read_bytes(), mode=0o600)
    except OSError:
        return None
    return path
