"""Content, files and folders into the store, under the project's rules."""

import json

import pytest

import policy
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.operations.indexing import IndexRequest, index


@pytest.fixture
def rules(config):
    settings = config.project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"permissions": {"deny": ["Read(./secret.txt)"]}}))
    return policy.load_rules(config.project, home=config.home)


def test_content_is_found_by_its_label(store, config, rules):
    answer = index(store, config, rules, IndexRequest(content=b"milk\n", source="notes"))
    assert (answer.source, answer.files, answer.bytes) == ("notes", 1, 5)
    assert store.search("milk")[0].hits[0].source == "notes"


def test_a_file_goes_by_its_path_or_its_label(store, config, rules):
    assert index(store, config, rules, IndexRequest(path="docs/guide.md")).source == "docs/guide.md"
    assert index(store, config, rules, IndexRequest(path="app.py", source="x")).source == "x"


def test_a_sparse_file_that_no_memory_holds_is_refused(store, config, rules):
    with (config.project / "vast.txt").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UsageError, match="too large: 1,099,511,627,776 bytes"):
        index(store, config, rules, IndexRequest(path="vast.txt"))


def test_a_folder_is_indexed_and_says_what_it_left_out(store, config, rules):
    answer = index(store, config, rules, IndexRequest(path="."))
    assert answer.files >= 2
    assert answer.source == str(config.project)
    assert any("Read(./secret.txt)" in reason for reason in answer.skipped)
    assert not any("password" in hit.text for hit in store.search("retry", limit=50)[0].hits)


@pytest.mark.parametrize("patterns", [{"include": ("[*.md",)}, {"exclude": ("*.{md",)}])
def test_a_glob_that_is_malformed_is_refused_with_what_to_write(store, config, rules, patterns):
    with pytest.raises(UsageError, match="never closed: write"):
        index(store, config, rules, IndexRequest(path="docs", **patterns))


def test_a_glob_that_fits_no_file_is_told(store, config, rules):
    answer = index(store, config, rules, IndexRequest(path="docs", include=("*.nothing", "x/*")))
    assert answer.notes == ("No file that can be indexed matches *.nothing or x/*.",)
    assert index(store, config, rules, IndexRequest(path="docs", include=("*.md",))).notes == ()
    assert index(store, config, rules, IndexRequest(path="docs", include=("*.md",))).notes == ()


def test_an_unchanged_folder_says_so(store, config, rules):
    index(store, config, rules, IndexRequest(path="docs"))
    again = index(store, config, rules, IndexRequest(path="docs"))
    assert again.files == 0
    assert again.unchanged == 1


@pytest.mark.parametrize("name", [".env", "id_rsa", "server.pem", "credentials.json"])
def test_what_is_named_like_secrets_is_left_out_with_its_reason(store, config, rules, name):
    (config.project / "docs" / name).write_text("retry\n")
    answer = index(store, config, rules, IndexRequest(path="docs"))
    assert answer.left_out == ({"path": name, "reason": "named like a file of secrets"},)
    with pytest.raises(ContextModeError, match="named like"):
        index(store, config, rules, IndexRequest(path=f"docs/{name}"))


def test_kind_and_language_can_be_said(store, config, rules):
    index(store, config, rules, IndexRequest(content=b"# x", source="n", kind="markdown"))
    index(store, config, rules, IndexRequest(path="docs/guide.md", source="g", kind="text"))
    assert {s.label: s.kind for s in store.sources()} == {"n": "markdown", "g": "text"}
    with pytest.raises(UsageError, match="unknown kind"):
        index(store, config, rules, IndexRequest(content=b"x", source="n", kind="novel"))


def test_a_page_says_what_it_became(store, config, rules):
    (config.project / "p.html").write_text("<h1>Title</h1>")
    answer = index(store, config, rules, IndexRequest(path="p.html"))
    assert (answer.converted, answer.bytes) == ("HTML to Markdown", len("# Title\n"))


def test_a_file_that_a_rule_denies_is_not_read(store, config, rules):
    with pytest.raises(ContextModeError, match=r"Read\(./secret.txt\)"):
        index(store, config, rules, IndexRequest(path="secret.txt"))
    assert store.sources() == []


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (IndexRequest(), "either"),
        (IndexRequest(content=b"x", path="app.py"), "either"),
        (IndexRequest(content=b"x"), "source"),
        (IndexRequest(path="nowhere"), "cannot read nowhere: no such file"),
        (IndexRequest(path="way-out"), "outside"),
        (IndexRequest(path="../outside.txt"), "outside"),
        (IndexRequest(path="a\0b"), "NUL"),
    ],
)
def test_what_cannot_be_indexed_is_refused_with_a_hint(store, config, rules, request_, said):
    with pytest.raises(UsageError, match=said) as caught:
        index(store, config, rules, request_)
    assert caught.value.hint


@pytest.mark.parametrize("target", [".env", ".envs/local", "secret.txt", "private"])
def test_a_link_to_what_may_not_be_read_is_left_out_whatever_its_name(store, config, rules, target):
    for name in (".env", ".envs/local", "private/id_rsa", "secret.txt"):
        (config.project / name).parent.mkdir(exist_ok=True)
        (config.project / name).write_text("hunter2 words")
    (config.project / "notes").symlink_to(target)
    answer = index(store, config, rules, IndexRequest(path=".", follow_symlinks=True))
    assert not store.search("hunter2")[0].hits
    assert any(left["path"].startswith("notes") for left in answer.left_out)


def test_a_file_that_a_secret_s_name_leads_to_is_not_indexed_by_that_name(store, config, rules):
    (config.project / "settings").write_text("words")
    (config.project / ".env").symlink_to("settings")
    with pytest.raises(ContextModeError, match="named like"):
        index(store, config, rules, IndexRequest(path=".env"))
