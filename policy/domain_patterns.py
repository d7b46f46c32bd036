"""Fetch rules against host names."""

from __future__ import annotations

import re
from urllib.parse import urlsplit


def host_of(url: str) -> str:
    """The host of a URL, in lower case, without a trailing dot; empty when there is none."""
    if "://" not in url:
        url = f"http://{url}"
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    return host.removesuffix(".").lower()


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
