"""The picture in README.md shows what its commands print."""

from __future__ import annotations

import importlib.util
import json
import re

import pytest

from tests.e2e.test_passed_functions import has_all_layers, run_probe

OUTPUT_ID = re.compile(r"out-[0-9a-f]{8}")


def test_the_picture_shows_what_its_commands_print(root, tmp_path):
    tried = json.loads(run_probe(tmp_path, "run", "--json", "python", "-c", "print(1)"))
    if not has_all_layers(tried["result"]["isolation"]):
        pytest.skip("not applicable: with other layers of isolation a refusal has other words")
    spec = importlib.util.spec_from_file_location("picture", root / "docs/picture.py")
    picture = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(picture)
    drawn = picture.draw(picture.run_all())
    message = "run docs/picture.py: a message in docs/terminal.svg has changed"
    assert OUTPUT_ID.sub("", drawn) == OUTPUT_ID.sub("", picture.PICTURE.read_text()), message
