from __future__ import annotations

import pytest

from tests.repomap.importing.repositories import find, make

REPOSITORY = make(
    """
    src/Shop.Core/Shop.Core.csproj src/Shop.Core/Cart.cs src/Shop.Core/Prices/Price.cs
    src/Shop.Core/Prices/Tax.cs src/web/Shop.Web.csproj src/web/Pages/Home.cs
    loose/Acme/Tools/Hammer.cs loose/Acme.Parts/Nail.cs a/Twin/Both/X.cs b/Twin/Both/X.cs a/Use.cs
    """
)

CASES = [
    ("src/web/Pages/Home.cs", "Shop.Core", "src/Shop.Core/Cart.cs"),
    ("src/web/Pages/Home.cs", "Shop.Core.Prices",
     "src/Shop.Core/Prices/Price.cs src/Shop.Core/Prices/Tax.cs"),
    ("src/web/Pages/Home.cs", "Shop.Core.Prices.Tax", "src/Shop.Core/Prices/Tax.cs"),
    ("src/Shop.Core/Cart.cs", "Shop.Web.Pages", "src/web/Pages/Home.cs"),
    ("a/Use.cs", "Acme.Tools", "loose/Acme/Tools/Hammer.cs"),
    ("a/Use.cs", "Acme.Tools.Hammer", "loose/Acme/Tools/Hammer.cs"),
    ("a/Use.cs", "Acme.Parts", "loose/Acme.Parts/Nail.cs"),
    ("a/Use.cs", "Twin.Both", "a/Twin/Both/X.cs"),
    ("src/web/Pages/Home.cs", "Twin.Both", ""),
    ("a/Use.cs", "System", ""),
    ("a/Use.cs", "System.Text.Json", ""),
    ("a/Use.cs", "Tools", ""),
    ("a/Use.cs", "...", ""),
]  # fmt: skip


@pytest.mark.parametrize(("path", "module", "wanted"), CASES)
def test_a_namespace_means_the_files_of_its_folder(path, module, wanted):
    assert find(REPOSITORY, "csharp", path, module) == wanted
