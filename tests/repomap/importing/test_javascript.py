from __future__ import annotations

import pytest

from tests.repomap.importing.repositories import find, make

REPOSITORY = make(
    """
    web/index.ts web/lib/x.ts web/lib/x.test.ts web/lib/index.js web/comp.tsx web/data.json
    web/types.d.ts web/app.component.ts web/page.vue web/box.svelte web/m.mts web/old.cjs
    web/both.ts web/both/index.ts web/deep/a/b.js index.mjs
    """
)

CASES = [
    ("web/index.ts", "./lib/x", "web/lib/x.ts"),
    ("web/index.ts", "./lib/x.js", "web/lib/x.ts"),
    ("web/index.ts", "./lib/x.ts", "web/lib/x.ts"),
    ("web/index.ts", "./lib", "web/lib/index.js"),
    ("web/index.ts", "./lib/", "web/lib/index.js"),
    ("web/index.ts", "./lib/index.js", "web/lib/index.js"),
    ("web/index.ts", "./comp.jsx", "web/comp.tsx"),
    ("web/index.ts", "./data.json", "web/data.json"),
    ("web/index.ts", "./data", "web/data.json"),
    ("web/index.ts", "./types", "web/types.d.ts"),
    ("web/index.ts", "./app.component", "web/app.component.ts"),
    ("web/index.ts", "./page.vue", "web/page.vue"),
    ("web/index.ts", "./page.vue?raw", "web/page.vue"),
    ("web/index.ts", "./box", "web/box.svelte"),
    ("web/index.ts", "./m.mjs", "web/m.mts"),
    ("web/index.ts", "./old", "web/old.cjs"),
    ("web/index.ts", "./both", "web/both.ts"),
    ("web/both/index.ts", "..", "web/index.ts"),
    ("web/lib/x.ts", ".", "web/lib/index.js"),
    ("web/deep/a/b.js", "../../lib/x", "web/lib/x.ts"),
    ("web/index.ts", "..", "index.mjs"),
    ("web/index.ts", "../../x", ""),
    ("web/index.ts", "/etc/passwd", ""),
    ("web/index.ts", "react", ""),
    ("web/index.ts", "./nothing", ""),
    ("web/index.ts", "?", ""),
    ("web/index.ts", "./a\0b", ""),
]


@pytest.mark.parametrize("language", ["javascript", "typescript", "tsx"])
@pytest.mark.parametrize(("path", "module", "wanted"), CASES)
def test_an_import_means_this_file(language, path, module, wanted):
    assert find(REPOSITORY, language, path, module) == wanted
