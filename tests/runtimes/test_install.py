"""What is said about installing a language, and the script that installs them all."""

from __future__ import annotations

import subprocess

import pytest

from runtimes.registry import (
    LANGUAGES,
    debian_packages,
    hint,
    install_script,
    language,
    npm_packages,
    platform,
)


@pytest.mark.parametrize(
    ("os_release", "found"),
    [
        ("ID=debian\n", "debian"),
        ('NAME="Linux Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"\n', "debian"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "fedora"),
        ("ID=arch\n", "arch"),
        ("ID=alpine\n", "unknown"),
        ("", "unknown"),
    ],
)
def test_the_platform_is_read_from_os_release(os_release, found):
    assert platform(os_release) == found


@pytest.mark.parametrize("on", ["debian", "fedora", "arch", "brew", "windows", "unknown"])
@pytest.mark.parametrize("row", LANGUAGES, ids=lambda row: row.name)
def test_every_language_has_a_hint_on_every_platform(row, on):
    assert "install" in hint(row, on) or "-S" in hint(row, on)


def test_a_hint_names_both_package_managers_where_both_are_needed():
    assert hint(language("javascript"), "debian") == (
        "sudo apt-get install -y --no-install-recommends nodejs npm && sudo npm install -g bun deno"
    )


def test_packages_are_listed_once():
    assert npm_packages() == ("bun", "deno", "tsx")
    assert len(set(debian_packages())) == len(debian_packages())
    assert {"r-base-core", "golang-go", "mono-mcs", "lua5.4", "g++"} <= set(debian_packages())


def test_the_script_installs_what_was_asked_for_and_no_more():
    script = install_script([language("lua"), language("perl")])
    assert "lua5.4 perl" in script
    assert "npm" not in script
    assert "ruby" not in script


def test_the_script_is_posix_shell_and_asks_for_root_only_if_it_must(tmp_path):
    """Run with stand-ins for every command that would change something."""
    log = tmp_path / "log"
    for name in ("apt-get", "npm", "sudo", "node", "env"):
        stand_in = tmp_path / "bin" / name
        stand_in.parent.mkdir(exist_ok=True)
        stand_in.write_text(f'#!/bin/sh\necho "{name} $*" >> {log}\n')
        stand_in.chmod(0o755)
    who = tmp_path / "bin/id"
    who.write_text("#!/bin/sh\necho 1000\n")
    who.chmod(0o755)
    done = subprocess.run(
        ["/bin/sh"],
        input=install_script(),
        env={"PATH": str(tmp_path / "bin")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    update, install, npm = log.read_text().splitlines()
    assert update == "sudo apt-get update"
    assert install.startswith(
        "sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "
    )
    assert {"golang-go", "python3"} <= set(install.split())
    assert not {"nodejs", "npm"} & set(install.split()), "node and npm are already there"
    assert npm == "sudo npm install -g --no-fund --no-audit bun deno tsx"
