"""Addresses are told by what they lead to, in whatever notation they are written."""

from __future__ import annotations

import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.addresses import (
    CARRIERS,
    PRIVATE_RANGES,
    REFUSED_RANGES,
    check_address,
    check_url,
    plain_host,
)
from base.wordlist import words

ALLOWED_URLS = (
    ("https://example.org/a?b#c", "example.org", 443),
    ("HTTP://EXAMPLE.ORG", "example.org", 80),
    ("https://example.org./", "example.org", 443),
    ("https://example.org:8443/", "example.org", 8443),
    ("http://93.184.216.34/", "93.184.216.34", 80),
    ("http://[2606:4700:4700::1111]/", "2606:4700:4700::1111", 80),
    ("https://bücher.example/", "xn--bcher-kva.example", 443),
    ("https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443),
    ("https://\uff45\uff58\uff41\uff4d\uff50\uff4c\uff45.org/", "example.org", 443),
    ("https://example。org/", "example.org", 443),
    ("http://1.1.1.1.example.org/", "1.1.1.1.example.org", 80),
    ("https://my_host.example.org/", "my_host.example.org", 443),
    ("https://example.org/@scope/a:b", "example.org", 443),
)

REFUSED_URLS = (
    "ftp://example.org/",
    "file:///etc/passwd",
    "gopher://example.org/",
    "javascript:alert(1)",
    "data:text/plain,x",
    "//example.org/",
    "example.org",
    "",
    "http://",
    "http:///path",
    "https://user@example.org/",
    "https://user:password@example.org/",
    "https://example.org@127.0.0.1/",
    "https://127.0.0.1\\@example.org/",
    "http://example.org /",
    "http://exa\tmple.org/",
    "http://exam\u00adple.org/",
    "http://example.org:0/",
    "http://example.org:22/",
    "http://example.org:6379/",
    "http://example.org:99999/",
    "http://example.org:x/",
    "http://a..b/",
    "http://-a.org/",
    "http://%6c%6fcalhost/",
    "http://[::1/",
    "http://[v1.fe]/",
    "http://[1.2.3.4]/",
    "http://[fe80::1%25eth0]/",
    "http://256.256.256.256/",
    "http://1.2.3.4.5/",
    "http://0x/.",
)

PRIVATE_URLS = (
    "http://localhost/",
    "http://LOCALHOST:8080/",
    "http://localhost./",
    "http://app.localhost/",
    "http://printer.local/",
    "http://intranet/",
    "http://db.internal/",
    "http://127.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://127.0.0.1./",
    "http://\uff11\uff12\uff17.0.0.1/",
    "http://①②⑦.0.0.1/",
    "http://127。0。0。1/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[fd12:3456::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::10.0.0.1]/",
    "http://[2002:c0a8:0101::1]/",
    "http://[::192.168.1.1]/",
    "http://[2606:4700::5efe:10.0.0.1]/",
)

NEVER_URLS = (
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://169.254.10.10/",
    "http://[fe80::1]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[2002:a9fe:a9fe::]/",
    "http://[fd00:ec2::254]/",
    "http://metadata.google.internal/",
    "http://METADATA.GOOGLE.INTERNAL./",
    "http://metadata/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://0.0.0.0/",
    "http://0/",
    "http://[::]/",
    "http://224.0.0.1/",
    "http://[ff02::1]/",
    "http://255.255.255.255/",
    "http://192.0.2.1/",
    "http://[2001:db8::1]/",
    "http://[2001:0:4136:e378:8000:63bf:3f57:fefe]/",  # Teredo
)


@pytest.mark.parametrize(("url", "host", "port"), ALLOWED_URLS)
def test_what_is_out_on_the_internet_is_allowed_under_its_plain_name(url, host, port):
    checked = check_url(url)
    assert (checked.refused, checked.host, checked.port) == ("", host, port)


@pytest.mark.parametrize("url", REFUSED_URLS)
def test_what_two_programs_could_read_differently_is_refused(url):
    assert not check_url(url).allowed
    assert not check_url(url, allow_private=True).allowed


@pytest.mark.parametrize("url", PRIVATE_URLS)
def test_this_machine_and_private_networks_are_allowed_by_a_switch_alone(url):
    assert check_url(url).refused
    assert check_url(url, allow_private=True).refused == ""


@pytest.mark.parametrize("url", NEVER_URLS)
def test_metadata_and_link_local_addresses_are_never_allowed(url):
    assert check_url(url).refused
    assert check_url(url, allow_private=True).refused


# Those that the standard library alone knows.
SPECIAL_RANGES = map(
    ipaddress.ip_network,
    words(
        """0.0.0.0/8 192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 198.18.0.0/15
        224.0.0.0/4 240.0.0.0/4 ff00::/8 ::/128 100::/64 2001:db8::/32"""
    ),
)


@pytest.mark.parametrize(
    "network", [*SPECIAL_RANGES, *(n for n, _ in PRIVATE_RANGES + REFUSED_RANGES)], ids=str
)
def test_a_range_is_refused_from_its_first_to_its_last_address(network):
    for address in (network[0], network[-1]):
        assert check_address(str(address))


@given(st.ip_addresses())
def test_no_address_is_allowed_that_the_standard_library_calls_local(address):
    carries = address.version == 6 and any(address in network for network, _ in CARRIERS)
    if not carries and not check_address(str(address)):
        assert address.is_global
        assert not address.is_multicast
        assert not address.is_link_local


@given(st.ip_addresses(v=4))
def test_every_notation_of_an_address_is_the_same_address(address):
    value = int(address)
    octets = address.packed
    spellings = (
        str(value),
        hex(value),
        f"0{value:o}",
        ".".join(map(hex, octets)),
        ".".join(f"0{octet:o}" for octet in octets),
        f"{octets[0]}.{octets[1]}.{value & 0xFFFF}",
        f"{octets[0]}.{value & 0xFFFFFF}.",
    )
    assert {plain_host(spelling) for spelling in spellings} == {str(address)}


@given(st.text(alphabet="0123456789abcdefx.", min_size=1, max_size=15))
def test_an_address_is_read_as_the_systems_own_library_reads_it(text):
    """What inet_aton takes must be known for an address, or a check would see a harmless name."""
    try:
        known = str(ipaddress.IPv4Address(socket.inet_aton(text)))
    except OSError:
        return
    assert plain_host(text) in (known, "")


@given(st.text())
def test_no_text_upsets_it(text):
    for url in (text, f"http://{text}", f"https://{text}/x"):
        assert isinstance(check_url(url).refused, str)
    assert isinstance(check_address(text), str)
