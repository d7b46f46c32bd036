"""What of this host's ways to its package servers is handed to a build."""

import pytest

from images import base
from images.base import Settings

TARGETS = """\
http://mirror.example/debian/ bookworm main Debian
http://mirror.example/debian/ bookworm-updates main Debian
http://mirror.example/security/ bookworm-security main Debian
http://mirror.example/debian/ bookworm contrib Debian
http://vendor.example/apt/ bookworm main Vendor
http://mirror.example/debian/ trixie main Debian
http://mirror.example/debian/ bookworm main Debian
http://broken.example/
"""


def test_only_the_distributions_own_sources_are_taken_the_main_suite_first():
    found = base.distribution_sources(TARGETS, "bookworm")
    assert found == (
        "deb http://mirror.example/debian bookworm main",
        "deb http://mirror.example/debian bookworm-updates main",
        "deb http://mirror.example/security bookworm-security main",
    )


def test_a_host_without_apt_has_no_sources():
    assert base.distribution_sources("", "") == ()


@pytest.mark.parametrize(
    ("dump", "certificates", "expected"),
    [
        ('Acquire::http::Proxy "http://p:1";\n', False, 'Acquire::http::Proxy "http://p:1";\n'),
        ('Acquire::https::Verify-Peer "0";\n', False, 'Acquire::https::Verify-Peer "0";\n'),
        ('Acquire::https::CaInfo "/etc/x.crt";\n', False, ""),
        ('Acquire::http "";\n', False, ""),
        ("", True, 'Acquire::https::CaInfo "/build/settings/ca.crt";\n'),
        ('Acquire::https::CaInfo "/x";\n', True,
         'Acquire::https::CaInfo "/build/settings/ca.crt";\n'),
    ],
)  # fmt: skip
def test_apt_is_told_proxies_and_never_a_file_of_the_host(dump, certificates, expected):
    assert base.apt_configuration(dump, certificates) == expected


def test_npm_is_told_where_to_ask_and_no_secret():
    told = {"registry": "https://r/", "proxy": None, "strict-ssl": True, "//r/:_authToken": "s"}
    assert base.npm_configuration(told, False) == "registry=https://r/\nstrict-ssl=true\n"


def test_proxies_are_taken_in_the_case_they_are_spelt():
    environ = {"https_proxy": "http://p:1", "NO_PROXY": "x", "HTTP_PROXY": "", "PATH": "/bin"}
    assert base.proxies(environ) == {"https_proxy": "http://p:1", "NO_PROXY": "x"}


def test_a_base_made_here_is_told_to_ask_this_hosts_mirror_alone():
    source = "deb http://mirror.example/debian bookworm main"
    own = Settings({"apt.conf": b"x;\n"}, {}, "bookworm", (source,)).for_own_base()
    assert own.files["sources.list"] == b"deb http://mirror.example/debian bookworm main\n"
    assert b'sourcelist "/build/settings/sources.list"' in own.files["apt.conf"]
    assert own.files["apt.conf"].startswith(b"x;\n")


def test_a_host_with_broken_tools_still_has_settings(tmp_path, monkeypatch):
    for name in ("npm", "apt-config", "apt-get"):
        tool = tmp_path / name
        tool.write_text("#!/bin/sh\necho '{'; exit 1\n")
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = base.of_host({})
    assert found.sources == ()
    assert b"registry" not in found.files["npmrc"]
