from __future__ import annotations

import pytest

from tests.repomap.importing.repositories import find, make

REPOSITORY = make(
    """
    src/main/java/p/q/C.java src/main/java/p/q/D.java src/main/java/p/Top.java
    src/test/java/p/q/CTest.java src/main/kotlin/p/k/K.kt src/main/kotlin/p/k/Use.kt
    src/main/scala/p/s/S.scala src/main/scala/p/s/T.scala
    one/src/com/x/Main.java one/src/com/x/Use.java two/src/com/x/Main.java three/Use.java
    """
)

CASES = [
    ("java", "src/main/java/p/Top.java", "p.q.C", (), "src/main/java/p/q/C.java"),
    ("java", "src/main/java/p/Top.java", "p.q.C.Inner", (), "src/main/java/p/q/C.java"),
    ("java", "src/main/java/p/Top.java", "p.q.C.CONSTANT", (), "src/main/java/p/q/C.java"),
    ("java", "src/main/java/p/Top.java", "p.q.C.*", (), "src/main/java/p/q/C.java"),
    ("java", "src/main/java/p/Top.java", "p.q.*", (),
     "src/main/java/p/q/C.java src/main/java/p/q/D.java"),
    ("java", "src/main/java/p/Top.java", "p.q", (),
     "src/main/java/p/q/C.java src/main/java/p/q/D.java"),
    ("java", "src/main/java/p/Top.java", "p.k.K", (), "src/main/kotlin/p/k/K.kt"),
    ("java", "src/main/java/p/Top.java", "java.util.List", (), ""),
    ("java", "src/main/java/p/Top.java", "java.util.*", (), ""),
    ("java", "src/main/java/p/q/C.java", "Top", (), ""),
    ("java", "src/main/java/p/q/C.java", "*", (), ""),
    ("java", "src/main/java/p/q/C.java", "...", (), ""),
    ("java", "one/src/com/x/Use.java", "com.x.Main", (), "one/src/com/x/Main.java"),
    ("java", "three/Use.java", "com.x.Main", (), ""),
    ("kotlin", "src/main/kotlin/p/k/Use.kt", "p.k.K", (), "src/main/kotlin/p/k/K.kt"),
    ("kotlin", "src/main/kotlin/p/k/Use.kt", "p.k.K.Companion.make", (),
     "src/main/kotlin/p/k/K.kt"),
    ("kotlin", "src/main/kotlin/p/k/Use.kt", "p.q.C", (), "src/main/java/p/q/C.java"),
    ("scala", "src/main/scala/p/s/S.scala", "p.s.T", (), "src/main/scala/p/s/T.scala"),
    ("scala", "src/main/scala/p/s/S.scala", "p.s", ("T", "S"),
     "src/main/scala/p/s/S.scala src/main/scala/p/s/T.scala"),
    ("scala", "src/main/scala/p/s/S.scala", "_root_.p.{s.T, q.C => Other}", (),
     "src/main/java/p/q/C.java src/main/scala/p/s/T.scala"),
    ("scala", "src/main/java/p/Top.java", "p.s._", (),
     "src/main/scala/p/s/S.scala src/main/scala/p/s/T.scala"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "path", "module", "names", "wanted"), CASES)
def test_an_import_means_these_files(language, path, module, names, wanted):
    assert find(REPOSITORY, language, path, module, names) == wanted
