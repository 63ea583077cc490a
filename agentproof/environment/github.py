"""The public keys that GitHub serves for a user, asked for once and by an explicit command alone.

1. Over https, without following where it sends, without credentials, and of no more than `MAX_KEY_BYTES`.
2. A user's name is put into a URL only where it has GitHub's own pattern.
"""

from typing import Final

import requests

from ..errors import CannotDoError, UsageError
from ..limits import MAX_KEY_BYTES
from ..models.statement import GITHUB, is_account
from .download import SystemTrust

SITE: Final = "https://github.com"
_TIMEOUT: Final = (20, 30)
"""Seconds to connect, and between two reads."""


def served_keys(account: str, *, site: str = SITE) -> tuple[bytes, str]:
    """The key lines that are served for `github:USER`, and their address.

    Raises:
        UsageError: the account has not that form, or there is no such user.
        CannotDoError: the site cannot be asked, sends elsewhere, or serves more than keys.
    """
    if not is_account(account):
        raise UsageError(f"{account}: no name of a user on GitHub", hint="write github:USER")
    address = f"{site}/{account.removeprefix(GITHUB)}.keys"
    if not address.startswith("https://"):
        raise CannotDoError(f"{address}: keys are taken over https alone")
    with requests.Session() as session:
        session.mount("https://", SystemTrust())
        session.auth = _Nobody()
        try:
            with session.get(
                address,
                stream=True,
                timeout=_TIMEOUT,
                allow_redirects=False,
                headers={"Accept-Encoding": "identity", "User-Agent": "agentproof"},
            ) as response:
                return _keys_in(response, account, address), address
        except requests.RequestException as error:
            raise CannotDoError(
                f"{address} cannot be asked: {error}",
                hint="take the file from there yourself, and --keys FILE reads it",
            ) from error


def _keys_in(response: requests.Response, account: str, address: str) -> bytes:
    if response.status_code == requests.codes.not_found:
        raise UsageError(f"{address}: GitHub has no user {account.removeprefix(GITHUB)}")
    if response.status_code != requests.codes.ok:
        raise CannotDoError(
            f"{address}: GitHub answered with {response.status_code}, not with keys",
            hint="has the user another name by now? look there, and --keys FILE reads what you took",
        )
    data = b""
    for chunk in response.iter_content(2**12):
        data += chunk
        if len(data) > MAX_KEY_BYTES:
            raise CannotDoError(f"{address}: more than {MAX_KEY_BYTES} bytes, so these are no keys")
    return data


class _Nobody(requests.auth.AuthBase):
    """No credentials: with none at all requests would take those of a netrc."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        return request
