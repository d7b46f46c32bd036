"""Python's packages: locked, fetched, built, bound; and all that is refused."""

from __future__ import annotations

import hashlib
import io
import tarfile

import pytest

from executor import PackagesError, Status
from executor.packages.model import Registry
from tests.executor.packages.conftest import left, run_in
from tests.executor.packages.python_index import wheel

pytestmark = [pytest.mark.tier_a, pytest.mark.once]

ALLOW = frozenset({"python"})
USE = "import alpha; print(alpha.VALUE)"


async def test_packages_are_fetched_once_and_found_offline_afterwards(engine, index, kept):
    index.add("alpha", files={"alpha.py": b"from beta import VALUE\n"}, requires=["beta>=1"])
    index.add("beta", files={"beta/__init__.py": b"VALUE = 42\n"})
    first = await run_in(engine, "python", USE, "alpha")
    assert (first.status, first.stdout.text, first.packages) == (Status.OK, "42\n", "now")
    index.served.files.clear()
    asked = len(index.served.asked)
    second = await run_in(engine, "python", USE, "alpha")
    assert (second.stdout.text, second.packages) == ("42\n", "kept")
    assert len(index.served.asked) == asked
    assert len(list((kept / "layers").iterdir())) == 1


async def test_a_run_without_says_what_it_lacks(engine, index):
    index.add("alpha")
    lacking = await run_in(engine, "python", USE)
    assert (lacking.status, lacking.missing_packages) == (Status.NONZERO_EXIT, ("alpha",))
    assert (await run_in(engine, "python", USE, *lacking.missing_packages)).missing_packages == ()


async def test_a_program_over_a_bound_file_finds_them(engine, index, project):
    index.add("alpha", files={"alpha.py": b"def count(text): return len(text.split())\n"})
    (project / "words.txt").write_text("one two three")
    code = "import alpha; print(alpha.count(FILE_CONTENT))"
    result = await run_in(engine, "python", code, "alpha", bind_file="words.txt")
    assert result.stdout.text == "3\n", result.stderr.text


async def test_a_list_that_names_another_registry_is_refused(engine, index, project, kept):
    index.add("alpha", files={"alpha.py": b"VALUE = 42\n"})
    (project / "base.in").write_text("alpha")
    wanted = project / "requirements.txt"
    wanted.write_text("--extra-index-url https://me:secret@other.example/simple\n-r base.in\n")
    with pytest.raises(PackagesError, match=r"not in use: https://other\.example/simple"):
        await run_in(engine, "python", USE, "requirements.txt")
    assert left(kept) == []
    wanted.write_text(f"--index-url {index.url}\n-r base.in\n")
    assert (await run_in(engine, "python", USE, "requirements.txt")).stdout.text == "42\n"


async def test_a_layer_is_compiled_and_read_only(engine, index):
    index.add("alpha")
    code = (
        "import alpha, os\nprint(os.path.exists(alpha.__cached__))\n"
        "try: open(alpha.__file__, 'a')\nexcept OSError as error: print(error.strerror)\n"
        "open('/tmp/x', 'a'); print('elsewhere')"
    )
    result = await run_in(engine, "python", code, "alpha")
    assert result.stdout.text == "True\nRead-only file system\nelsewhere\n"


async def test_the_run_itself_has_no_network(engine, index):
    index.add("alpha")
    code = (
        "import alpha, urllib.request\n"
        f"try: urllib.request.urlopen('{index.url}/alpha/')\nexcept OSError as error: print('none')"
    )
    assert (await run_in(engine, "python", code, "alpha")).stdout.text == "none\n"


async def test_a_release_that_is_younger_than_the_cooldown_is_left_out(engine, index):
    index.add("alpha", "1.0", {"alpha.py": b"VALUE = 'old'\n"})
    index.add("alpha", "2.0", {"alpha.py": b"VALUE = 'young'\n"}, uploaded="2999-01-01T00:00:00Z")
    assert (await run_in(engine, "python", USE, "alpha")).stdout.text == "old\n"


async def test_without_a_cooldown_it_counts(open_with, index):
    registries = {"python": Registry(index.url, private=True)}
    index.add("alpha", "1.0", {"alpha.py": b"VALUE = 'old'\n"})
    index.add("alpha", "2.0", {"alpha.py": b"VALUE = 'young'\n"}, uploaded="2999-01-01T00:00:00Z")
    async with open_with(allow=ALLOW, registries=registries, cooldown_days=0) as engine:
        assert (await run_in(engine, "python", USE, "alpha")).stdout.text == "young\n"


SETUP = b"open('/tmp/ran', 'w')\nprint('SETUP RAN')\nfrom setuptools import setup\nsetup()\n"


def sdist(name: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, content in {
            "setup.py": SETUP,
            "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        }.items():
            info = tarfile.TarInfo(f"{name}-1.0/{path}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def nothing(index):
    pass


def withdrawn(index):
    index.add("alpha", yanked="it eats files")


def wrong_digest(index):
    index.add("alpha", digest="0" * 64)


def source_only(index):
    index.add("alpha", sdist=sdist("alpha"))


def undated(index):
    index.add("alpha", uploaded=None)


def elsewhere(index):
    index.add("alpha", at="https://files.elsewhere.example")


def hostile_names(index):
    index.add("alpha", files={"../../../evil.py": b"1\n", "alpha.py": b"VALUE = 1\n"})


def no_archive(index):
    content = index.add("alpha")
    index.releases.clear()
    half = content[: len(content) // 2]
    index.add("alpha", digest=hashlib.sha256(half).hexdigest())
    index.served.files["/files/alpha-1.0-py3-none-any.whl"] = ("application/zip", half)


def huge(index):
    index.add("alpha", files={f"alpha/{n}": bytes(64 << 20) for n in range(4)})


@pytest.mark.parametrize(
    ("prepare", "spec", "words"),
    [
        (nothing, "alpha", "no such package or version"),
        (withdrawn, "alpha==9", "no such package or version"),
        (withdrawn, "alpha==1.0", "withdrawn"),
        (wrong_digest, "alpha", "not what the lock's digest says"),
        (source_only, "alpha", "no wheel"),
        (undated, "alpha", "no dates"),
        (elsewhere, "alpha", "files.elsewhere.example is not one of its registries"),
        (hostile_names, "alpha", "leads out of its folder"),
        (no_archive, "alpha", "archive is damaged"),
        (huge, "alpha", "exceed the disk limit"),
    ],
)
async def test_bad_packages_are_refused_in_words_and_leave_nothing(  # noqa: PLR0917 - fixtures
    open_with, index, kept, prepare, spec, words
):
    prepare(index)
    # Another host that is allowed has the proxy listen, so that what it refuses is told.
    registry = Registry(index.url, ("files.example.com",), private=True)
    given = {"registries": {"python": registry}, "layer_bytes": 4 << 20}
    async with open_with(allow=ALLOW, **given) as engine:
        with pytest.raises(PackagesError) as refused:
            await run_in(engine, "python", USE, spec)
        assert words in str(refused.value)
        assert left(kept) == []


async def test_an_install_script_runs_where_it_is_permitted(engine, project):
    """The control of `source_only`: what is refused there would have run."""
    (project / "setup.py").write_bytes(SETUP.partition(b"from")[0])
    result = await run_in(engine, "shell", "python3 setup.py")
    assert result.stdout.text == "SETUP RAN\n"


async def test_a_registry_that_is_down_is_named(open_with, served, kept):
    registry = Registry("http://127.0.0.1:9/simple", private=True)
    async with open_with(allow=ALLOW, registries={"python": registry}) as engine:
        with pytest.raises(PackagesError, match="did not answer"):
            await run_in(engine, "python", USE, "alpha")
    assert left(kept) == []


async def test_a_lock_of_the_project_is_taken_as_it_is(engine, index, project, kept):
    content = index.add("alpha")
    index.add("alpha", "2.0", {"alpha.py": b"VALUE = 2\n"})
    digest = hashlib.sha256(content).hexdigest()
    (project / "requirements.txt").write_text(f"alpha==1.0 --hash=sha256:{digest}\n")
    result = await run_in(engine, "python", USE, "requirements.txt")
    assert (result.stdout.text, result.packages) == ("1\n", "now")
    assert list((kept / "locks").iterdir()) == []
    (project / "requirements.txt").write_text(f"alpha==1.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(PackagesError, match="not what the lock's digest says"):
        await run_in(engine, "python", USE, "requirements.txt")
    assert len(left(kept)) == 1


async def test_a_list_without_digests_is_locked(engine, index, project, kept):
    index.add("alpha")
    (project / "requirements.txt").write_text("# what it needs\nalpha>=1\n")
    assert (await run_in(engine, "python", USE, "requirements.txt")).stdout.text == "1\n"
    assert len(list((kept / "locks").iterdir())) == 1


def test_the_wheels_of_these_tests_are_wheels():
    assert wheel("alpha", "1.0", {"alpha.py": b""})[:2] == b"PK"
