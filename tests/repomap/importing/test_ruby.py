from __future__ import annotations

import pytest

from tests.repomap.importing.repositories import find, make

REPOSITORY = make(
    """
    lib/m.rb lib/m/n.rb spec/spec_helper.rb spec/m/n_spec.rb gems/one/lib/one.rb
    gems/one/lib/version.rb gems/two/lib/two.rb gems/two/lib/version.rb gems/two/test/test_two.rb
    app/models/user.rb tool.rb config/deep/json.rb config/deep/far/only.rb
    """
)

CASES = [
    ("lib/m.rb", "m/n", "relative", "lib/m/n.rb"),
    ("lib/m/n.rb", "../m", "relative", "lib/m.rb"),
    ("lib/m/n.rb", "../m.rb", "relative", "lib/m.rb"),
    ("lib/m/n.rb", "../../../x", "relative", ""),
    ("lib/m/n.rb", "m", "relative", ""),
    ("spec/m/n_spec.rb", "m/n", "", "lib/m/n.rb"),
    ("spec/m/n_spec.rb", "spec_helper", "", "spec/spec_helper.rb"),
    ("gems/two/test/test_two.rb", "two", "", "gems/two/lib/two.rb"),
    ("gems/two/test/test_two.rb", "version", "", "gems/two/lib/version.rb"),
    ("gems/one/lib/one.rb", "version", "", "gems/one/lib/version.rb"),
    ("lib/m.rb", "one", "", "gems/one/lib/one.rb"),
    ("lib/m.rb", "version", "", ""),
    ("lib/m.rb", "models/user", "", "app/models/user.rb"),
    ("lib/m.rb", "./tool", "", "tool.rb"),
    ("lib/m.rb", "json", "", ""),
    ("lib/m.rb", "far/only", "", "config/deep/far/only.rb"),
    ("lib/m.rb", "net/http", "", ""),
    ("lib/m.rb", "/", "", ""),
]


@pytest.mark.parametrize(("path", "module", "form", "wanted"), CASES)
def test_a_require_means_this_file(path, module, form, wanted):
    assert find(REPOSITORY, "ruby", path, module, (), form) == wanted
