"""Lists in pip's form: what of them is taken, and what is refused."""

from __future__ import annotations

import pytest

from executor import RequestError
from executor.packages.package_request import FILES_MAX, LINES_MAX, read_list

DIGEST = f"sha256:{'0' * 64}"


def read(files: dict[str, str], path: str = "/p/requirements.txt"):
    def content(name: str) -> bytes:
        if name not in files:
            raise RequestError(f"{name} can't be read")
        return files[name].encode()

    return read_list(path, content)


TAKEN = {
    "a name": ("pandas", "pandas"),
    "versions": ("pandas >=2, <3 ", "pandas >=2, <3"),
    "in brackets": ("pandas (>=2)", "pandas (>=2)"),
    "extras": ("uvicorn[standard]==0.30", "uvicorn[standard]==0.30"),
    "a marker": ('a>=1 ; python_version < "3.12"', 'a>=1 ; python_version < "3.12"'),
    "a comment": ("# all\na  # one\n\n", "a"),
    "digests": (
        f"a==1 \\\n    --hash={DIGEST} \\\n    --hash={DIGEST}\n    # via b",
        f"a==1 --hash={DIGEST} --hash={DIGEST}",
    ),
    "a mark of order": ("\ufeffa", "a"),
    "windows": ("a\r\nb\r\n", "a\nb"),
    "what wheels have no need of": ("--only-binary :all:\n--require-hashes\na", "a"),
    "none": ("", ""),
}


@pytest.mark.parametrize(("text", "expected"), TAKEN.values(), ids=TAKEN)
def test_packages_are_taken_line_by_line(text, expected):
    assert read({"/p/requirements.txt": text})[0] == expected


REFUSED = {
    "a folder": "-e .",
    "a path": "./wheels/a.whl",
    "an address": "a @ https://example.com/a-1.0-py3-none-any.whl",
    "git": "git+https://example.com/a.git",
    "an archive": "https://example.com/a.tar.gz",
    "a folder of files": "--find-links ./wheels",
    "constraints": "-c constraints.txt",
    "a host": "--trusted-host example.com",
    "an option behind": "a==1 --config-settings x=y",
    "an option in a version": "a==1 -e .",
    "an option in a marker": "a ; x -e .",
    "another digest": "a==1 --hash=md5:00",
    "two names": "a b",
    "quotes": "'a'",
    "a variable": "a==${VERSION}",
    "an address in a marker": "a ; x @ https://example.com",
}


@pytest.mark.parametrize("line", REFUSED.values(), ids=REFUSED)
def test_a_line_that_is_no_package_of_a_registry_is_refused_by_its_number(line):
    with pytest.raises(RequestError, match=r"requirements\.txt, line 2: ") as refused:
        read({"/p/requirements.txt": f"fine\n{line}\n"})
    assert refused.value.hint


def test_a_list_includes_others_from_its_own_folder():
    files = {
        "/p/requirements.txt": "-r sub/more.txt\na\n--requirement=base.txt",
        "/p/sub/more.txt": "b\n-r ../base.txt\n-r more.txt",
        "/p/base.txt": "c\na",
    }
    assert read(files)[0] == "b\nc\na"


def test_registries_are_told_and_no_packages():
    text = "--index-url https://a.example/simple\n--extra-index-url=https://b.example\n-i x\na"
    found = read({"/p/requirements.txt": text})
    assert found[0] == "a"
    assert found[1] == ("https://a.example/simple", "https://b.example", "x")


def test_lists_have_a_bound():
    many = {f"/p/{n}.txt": f"-r {n + 1}.txt" for n in range(FILES_MAX + 1)}
    for files, first in ((many, "/p/0.txt"), ({"/p/x": "a\n" * (LINES_MAX + 1)}, "/p/x")):
        with pytest.raises(RequestError, match="more than"):
            read(files, first)


@pytest.mark.parametrize("text", ["\0", "a\0b", "a" * 10**6, "[" * 10**5, "a[" + "," * 10**5])
def test_a_hostile_line_is_refused(text):
    with pytest.raises(RequestError):
        read({"/p/requirements.txt": text})
