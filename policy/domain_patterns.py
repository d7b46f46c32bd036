"""Fetch rules against host names."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

# A name in ASCII whose last label is no number: it has no other spelling.
_PLAIN = re.compile(r"(?:[a-z0-9_-]+\.)*[a-z_][a-z0-9_-]*")


def host_of(url: str) -> str:
    """The host of a URL in the spelling that is connected to; empty when there is none."""
    if "://" not in url:
        url = f"http://{url}"
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    host = host.removesuffix(".").lower()
    if _PLAIN.fullmatch(host):
        return host
    from policy.addresses import plain_host  # noqa: PLC0415 - few hosts need its tables

    return plain_host(host) or host


def match_domain(spec: str, host: str) -> bool:
    """`*.example.com` is every subdomain but not the apex; another `*` stays inside one label."""
    spec = spec.strip().removesuffix(".").lower()
    if spec == "*":
        return True
    if spec.startswith("*."):
        suffix = _expression(spec[2:])
        return re.fullmatch(rf"(?:[^.]+\.)+{suffix}", host) is not None
    return re.fullmatch(_expression(spec), host) is not None


def _expression(spec: str) -> str:
    return "[^.]*".join(map(re.escape, spec.split("*")))
