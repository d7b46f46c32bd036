from __future__ import annotations

import pytest

from tests.repomap.importing.repositories import find, make

REPOSITORY = make(
    """
    main.c x.h src/a.c src/a.h src/deep/b.c include/lib/y.h include/one.h src/proj/z.h
    l/include/twin.h l/l.c m/include/twin.h m/m.c compat/sys/types.h e/same.h f/same.h
    """
)

CASES = [
    ("main.c", "x.h", "quoted", "x.h"),
    ("src/a.c", "a.h", "quoted", "src/a.h"),
    ("src/deep/b.c", "../a.h", "quoted", "src/a.h"),
    ("src/a.c", "../x.h", "quoted", "x.h"),
    ("src/a.c", "../../x.h", "quoted", "x.h"),
    ("src/a.c", "lib/y.h", "quoted", "include/lib/y.h"),
    ("main.c", "proj/z.h", "quoted", "src/proj/z.h"),
    ("main.c", "z.h", "quoted", "src/proj/z.h"),
    ("main.c", "same.h", "quoted", ""),
    ("main.c", "none.h", "quoted", ""),
    ("main.c", "lib/y.h", "angled", "include/lib/y.h"),
    ("main.c", "one.h", "angled", "include/one.h"),
    ("main.c", "x.h", "angled", ""),
    ("main.c", "proj/z.h", "angled", "src/proj/z.h"),
    ("main.c", "sys/types.h", "angled", ""),
    ("main.c", "sys/types.h", "quoted", "compat/sys/types.h"),
    ("l/l.c", "twin.h", "angled", "l/include/twin.h"),
    ("m/m.c", "twin.h", "angled", "m/include/twin.h"),
    ("main.c", "twin.h", "angled", ""),
    ("main.c", "..", "quoted", ""),
    ("main.c", "/", "quoted", ""),
    ("main.c", ".", "angled", ""),
]


@pytest.mark.parametrize("language", ["c", "cpp", "objc"])
@pytest.mark.parametrize(("path", "module", "form", "wanted"), CASES)
def test_an_include_means_this_file(language, path, module, form, wanted):
    assert find(REPOSITORY, language, path, module, (), form) == wanted
