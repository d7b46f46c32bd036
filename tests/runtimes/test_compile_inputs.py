"""Which sources compile to the same product everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

import runtimes

ALONE = {
    "c": "#include <stdio.h>\n# include <sys/stat.h>\n#define X \\\n 1\n"
    'x.increment(); time(0); /* include this */ puts("\\n100% # 1 date: __FILE__");',
    "cpp": "#include <vector>\nauto y = z.include(1);",
    "go": 'import "fmt"',
    "rust": "use std::io; use std::env; mod inner { } fn main() { env::args(); }",
    "java": "import java.util.List;",
    "csharp": "using System;",
}
SPLICE = "\\\n"
TIMES = ("__DATE__", "__TIME__", "__TIMESTAMP__")
REACHING = {
    "c": [
        *('#include "x.h"', "#include X", "#include <../x.h>", "#import <x>", "#embed <x>"),
        *(
            "#include <no/standard.h>",
            "#include <sys/../../x.h>",
            "#include/**/X",
            '#/**/include "x"',
        ),
        *(
            f'#{SPLICE}include "x"',
            f'#inc{SPLICE}lude "x"',
            f"#include{SPLICE}X",
            "#inc\\ \nlude X",
        ),
        *("%:include X", "??=include X", "#include_next <stdio.h>", "#\tembed <x>"),
        *("#if __has_embed(<x>)", f"__ha{SPLICE}s_include(<x>)", "#pragma GCC dependency <x>"),
        *('_Pragma("GCC pch_preprocess \\"x\\"")', 'asm(".inc" "bin \\"x\\"")', "__asm__(X);"),
        *TIMES,
        *(f"{name[:4]}{SPLICE}{name[4:]}" for name in TIMES),
        *(f"{name[:4]}??/\n{name[4:]}" for name in TIMES),
        *(f"{name[:5]}\\ \t\r\n{name[5:]}" for name in TIMES),
        *(f"#define P(a, b) a ## b\nP({name[:4]}, {name[4:]})" for name in TIMES),
        *(f"#define P(a, b) a %:%: b\nP({name[:4]}, {name[4:]})" for name in TIMES),
        *(f"#define P(a, b) a #{SPLICE}# b\nP({name[:4]}, {name[4:]})" for name in TIMES),
        *(f"__CONCAT({name[:cut]}, {name[cut:]})" for name in TIMES for cut in range(1, len(name))),
        *(f"_AC({name[:cut]}, {name[cut:]})" for name in TIMES for cut in range(1, len(name))),
        *(
            "#define D __DATE__\nputs(D);",
            "_\\u005fDATE__",
            "\\u{5f}_TIME__",
            "/* */ __DA/**/\\\nTE__",
        ),
        'puts("/*"); puts(__DATE__); puts("*/");',
    ],
    "cpp": [
        *("#  include\t'x'", "__has_include(<x>)", "__TIMESTAMP__", 'asm(".incbin \\"x\\"")'),
        *(
            "import <vector>;",
            'import "x.h";',
            "  export import m;",
            'auto s = R"(/*)"; __TIME__ R"(*/)";',
        ),
    ],
    "go": [
        "//go:embed x",
        'import "C"',
        'import (\n\t"fmt"\n\t"C"\n)',
        "import `C`",
        'import/**/"C"',
    ],
    "rust": [
        *('include_str!("x")', 'include!("x")', "mod x;", '#[path = "x"] mod y {}'),
        *('include_str /* */ !("x")', "use std::include_bytes as b;", 'r#include_str!("x")'),
        *('env!("PATH")', 'option_env!("X")', 'env /**/ ! ("X")', "use core::option_env as o;"),
        *("use std::env as e; e!(X)", "mod r#x;", "mod /* */ x ;", '#[path/**/="x"] mod y;'),
        *('#[cfg_attr(all(), path = "x")] mod y;', "macro_rules! m { ($i:ident) => { mod $i; } }"),
    ],
    "csharp": [
        '[assembly: AssemblyVersion("1.0.*")]',
        '[assembly: System.Reflection.AssemblyVersionAttribute("1.0." + "*")]',
        '[assembly: Assembly\\u0056ersion("1.0.*")]',
    ],
}


def inputs(language: str):
    return [t.inputs for t in runtimes.language(language).toolchains if t.compile]


@pytest.mark.parametrize("language", ALONE)
def test_a_plain_source_stands_alone(language):
    assert inputs(language)
    assert not any(runtimes.reaches(i, ALONE[language]) for i in inputs(language))


@pytest.mark.parametrize(("language", "code"), [(n, c) for n, cs in REACHING.items() for c in cs])
def test_a_source_that_names_further_files_or_the_time_reaches(language, code):
    assert all(runtimes.reaches(i, code) for i in inputs(language))


def test_files_beside_count_except_the_script_itself(tmp_path: Path):
    (java,) = inputs("java")
    script = tmp_path / "Main.java"
    script.touch()
    assert not runtimes.heeds(java, [tmp_path], except_for=str(script))
    assert runtimes.heeds(java, [tmp_path], except_for=None)
    (tmp_path / "Other.java").touch()
    assert runtimes.heeds(java, [tmp_path], except_for=str(script))
