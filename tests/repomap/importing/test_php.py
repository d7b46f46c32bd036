from __future__ import annotations

import json

import pytest

from tests.repomap.importing.repositories import find, make

CONFIGS = {
    "composer.json": json.dumps(
        {
            "autoload": {"psr-4": {"App\\": "app/", "App\\Special\\": ["none/", "special"]}},
            "autoload-dev": {"psr-4": {"Tests\\": "tests/"}},
        }
    ),
    "packages/kit/composer.json": '{"autoload": {"psr-4": {"Kit\\\\": "src", "": "any/"}}}',
}
REPOSITORY = make(
    """
    index.php inc/a.php inc/b.php app/Models/User.php app/Models/Post.php special/Thing.php
    tests/UserTest.php packages/kit/src/Tool.php packages/kit/any/Free/Form.php
    old/Vendor/Pack/Old.php one/Dup/X.php two/Dup/X.php
    """,
    CONFIGS,
)

CASES = [
    ("inc/a.php", "b.php", (), "file", "inc/b.php"),
    ("inc/a.php", "/b.php", (), "file", "inc/b.php"),
    ("inc/a.php", "../index.php", (), "file", "index.php"),
    ("inc/a.php", "/../index.php", (), "file", "index.php"),
    ("app/Models/User.php", "inc/a.php", (), "file", "inc/a.php"),
    ("app/Models/User.php", "kit/src/Tool.php", (), "file", "packages/kit/src/Tool.php"),
    ("index.php", "../../etc/passwd", (), "file", ""),
    ("index.php", "vendor/autoload.php", (), "file", ""),
    ("index.php", "App\\Models\\User", (), "use", "app/Models/User.php"),
    ("index.php", "\\App\\Models\\User", (), "use", "app/Models/User.php"),
    ("index.php", "App\\Models", ("User", "Post"), "use",
     "app/Models/Post.php app/Models/User.php"),
    ("index.php", "App\\Special\\Thing", (), "use", "special/Thing.php"),
    ("index.php", "Tests\\UserTest", (), "use", "tests/UserTest.php"),
    ("index.php", "Kit\\Tool", (), "use", "packages/kit/src/Tool.php"),
    ("index.php", "Free\\Form", (), "use", "packages/kit/any/Free/Form.php"),
    ("index.php", "Vendor\\Pack\\Old", (), "use", "old/Vendor/Pack/Old.php"),
    ("index.php", "Dup\\X", (), "use", ""),
    ("one/y.php", "Dup\\X", (), "use", ""),
    ("index.php", "App\\None", (), "use", ""),
    ("index.php", "User", (), "use", ""),
    ("index.php", "\\", (), "use", ""),
]  # fmt: skip


@pytest.mark.parametrize(("path", "module", "names", "form", "wanted"), CASES)
def test_an_import_means_these_files(path, module, names, form, wanted):
    assert find(REPOSITORY, "php", path, module, names, form) == wanted


@pytest.mark.parametrize(
    "config",
    [
        "[]",
        "{" * 5000,
        '{"autoload": []}',
        '{"autoload": {"psr-4": ["a"]}}',
        '{"autoload": {"psr-4": {"A\\\\": 3, "B\\\\": [null, {}], "C\\\\": "../../.."}}}',
        json.dumps({"autoload": {"psr-4": {f"N{n}\\": "x" for n in range(10_000)}}}),
    ],
    ids=range(6),
)
def test_a_hostile_composer_file_costs_only_itself(config):
    repository = make("x/A/B.php y.php", {"composer.json": config})
    assert find(repository, "php", "y.php", "C\\etc\\passwd", (), "use") == ""
    assert find(repository, "php", "y.php", "A\\B", (), "use") == "x/A/B.php"
