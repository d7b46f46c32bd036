"""Fetch rules against hosts."""

from __future__ import annotations

import pytest

from policy.matching import host_of, match_domain


@pytest.mark.parametrize(
    ("spec", "host", "expected"),
    [
        ("example.com", "example.com", True),
        ("EXAMPLE.com.", "example.com", True),
        ("example.com", "www.example.com", False),
        ("*.example.com", "www.example.com", True),
        ("*.example.com", "a.b.example.com", True),
        ("*.example.com", "example.com", False),
        ("*", "anything", True),
        ("api-*.example.com", "api-1.example.com", True),
        ("api-*.example.com", "api-1.x.example.com", False),
    ],
)
def test_domains(spec: str, host: str, expected: bool) -> None:
    assert match_domain(spec, host) is expected


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://User@Example.COM.:8080/x", "example.com"),
        ("example.com/x", "example.com"),
        ("http://[::1]/", "::1"),
        ("http://[broken", ""),
    ],
)
def test_hosts(url: str, host: str) -> None:
    assert host_of(url) == host
