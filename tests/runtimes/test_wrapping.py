"""What each language adds to code that is not a whole program, and what it leaves alone."""

from __future__ import annotations

import pytest

from runtimes.languages.csharp.row import wrap_for_mono
from runtimes.languages.java.row import main_class
from runtimes.model import ProgramText
from runtimes.registry import LANGUAGES, language

WHOLE = {
    "go": "// a comment\npackage main\nfunc main() {}",
    "rust": "fn helper() {}\npub fn main() {}",
    "php": "<?php echo 1;",
    "c": "int main(void) { return 0; }",
    "cpp": "int main() {}",
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_program_is_left_alone(name):
    assert language(name).wrap(WHOLE[name]) == ProgramText(WHOLE[name])


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("fmt.Println(1)", 'package main; import "fmt";  func main() { fmt.Println(1)\n}\n'),
        ("func main() {}", "package main; func main() {}"),
        ('import "os"\nos.Exit(1)', 'package main; import "os"; func main() { \nos.Exit(1)\n}\n'),
        ("url := f()\nurl.Host()", "package main;  func main() { url := f()\nurl.Host()\n}\n"),
        ('x := "fmt.Println"', 'package main;  func main() { x := "fmt.Println"\n}\n'),
        (
            "filepath.Base(x)",
            'package main; import "path/filepath";  func main() { filepath.Base(x)\n}\n',
        ),
    ],
)
def test_go_gets_its_package_imports_and_main(code, text):
    assert language("go").wrap(code).text == text


@pytest.mark.parametrize(
    ("code", "added"),
    [
        ("echo 1;", "<?php "),
        ("\n\n$a = '<?php';", "<?php "),
        ("<?php echo 1;", ""),
        ("\ufeff<?php echo 1;", ""),
        ("  <?= 1 ?>", ""),
        ("<h1><?= 1 ?></h1>", ""),
        ("#!/usr/bin/env php\n<?php echo 1;", ""),
    ],
)
def test_php_gets_its_tag(code, added):
    assert language("php").wrap(code).text == added + code


@pytest.mark.parametrize(
    ("code", "name", "started"),
    [
        ("int a = 1;", "Main.java", "Main"),
        (
            "static int f() { return 1; }\npublic static void main(String[] a) {}",
            "Main.java",
            "Main",
        ),
        ("public class Shop { public static void main(String[] a) {} }", "Shop.java", "Shop"),
        ("class A {}\nclass B { static void main(String[] a) {} }", "Main.java", "B"),
        ("package a.b;\nclass A { static void main(String[] a) {} }", "Main.java", "a.b.A"),
        ("interface I {}\npublic class C implements I { void main() {} }", "C.java", "C"),
        ("record P(int x) {}\nSystem.out.println(new P(1));", "Main.java", "Main"),
        ("// class Fake {}\nint a = 1;", "Main.java", "Main"),
    ],
)
def test_java_names_its_file_and_its_main_class(code, name, started):
    row = language("java")
    source = row.wrap(code)
    assert (source.name or row.source_name, main_class(source)) == (name, started)


@pytest.mark.parametrize(
    ("code", "main"),
    [
        ("Console.WriteLine(1);", "static void Main(string[] args)"),
        (
            "await Task.Delay(1);",
            "static void Main(string[] args) { Run(args).GetAwaiter().GetResult(); }",
        ),
        ("return 3;", "static int Main(string[] args)"),
        ("Func<int> f = () => { return 1; };", "static void Main(string[] args)"),
        ("int F(int x) { return x; }\nF(1);", "static void Main(string[] args)"),
        ("if (args.Length == 0) { return 1; }\nreturn 0;", "static int Main(string[] args)"),
        ("foreach (var a in args) { if (a == null) { return; } }", "static void Main("),
        ("using System.Net;\nvar a = 1;\nclass B {}", "static void Main(string[] args)"),
    ],
)
def test_mono_gets_a_main_for_top_level_statements(code, main):
    assert main in wrap_for_mono(code).text


@pytest.mark.parametrize(
    "code",
    ["class P { static void Main() {} }", "namespace A { class P { static void Main() {} } }"],
)
def test_mono_keeps_the_main_of_a_whole_program(code):
    assert wrap_for_mono(code).text.count("Main(") == 1


def test_rust_keeps_crate_attributes_first():
    text = language("rust").wrap("#![allow(unused)]\nlet a = 1;").text
    assert text == "#![allow(unused)]fn main() { \nlet a = 1;\n}\n"


WRAPPERS = [row.wrap for row in LANGUAGES] + [wrap_for_mono]
EDITS = [row.binding.edit for row in LANGUAGES if row.binding.edit]


@pytest.mark.parametrize(
    "unit",
    [
        *("\n", " ", "{", "}", "public ", "fmt,", "fmt.X ", "|file_content ", "import a;", "#x\n"),
        *("class A {}", "[", "package ", "func main", "using A;", "return ", "main ", "#![a]"),
        *("=> {", "using ", "import ", "(", "f(x) {"),
    ],
)
def test_a_hostile_text_is_wrapped_in_linear_time(unit):
    # Were any wrapper quadratic, this would take minutes and more.
    text = unit * (300_000 // len(unit))
    for wrap in WRAPPERS:
        assert len(wrap(text).text) >= len(text)
    for edit in EDITS:
        assert len(edit(ProgramText(text)).text) >= len(text)
    assert main_class(ProgramText(text))
