"""Fetch rules against host names."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from policy.wildcards import is_made_of

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
    wanted, labels = spec.split("."), host.split(".")
    if spec.startswith("*."):
        wanted = wanted[1:]
        if len(labels) <= len(wanted) or not all(labels):
            return False
        labels = labels[-len(wanted) :]
    return len(labels) == len(wanted) and all(
        is_made_of(one.split("*"), label) for one, label in zip(wanted, labels, strict=True)
    )
