"""Programs by definitions: one sample per language, and what must hold for all of them."""

from __future__ import annotations

import pytest

import kb.chunking
from kb import grammars
from kb.chunkers import code
from tests.samples import read_samples

SAMPLES = {
    "bash": ("# says hello\ngreet() {\n  echo hi\n}\nfunction bye { echo; }\n", ["greet", "bye"]),
    "c": (
        "/* adds */\nstatic int *add(int a, int b) {\n  return 0;\n}\nstruct point { int x; };\n"
        "#define MAX(a, b) ((a) > (b))\ntypedef unsigned long word;\nenum color { RED };\n",
        ["add", "point", "MAX", "word", "color"],
    ),
    "cpp": (
        "namespace geo {\ntemplate <class T>\nclass Box {\n public:\n"
        "  int size() { return 1; }\n};\n"
        "}\nint Box::volume(int x) { return x; }\n",
        ["geo", "geo > Box", "geo > Box > size", "Box::volume"],
    ),
    "csharp": (
        "namespace N {\n/// doc\npublic class C {\n  public int P { get; }\n  C() {}\n"
        "  void M(int x) { }\n}\ninterface I {}\n}\n",
        ["N", "N > C", "N > C > P", "N > C > C", "N > C > M", "N > I"],
    ),
    "dart": (
        "class Dog {\n  void bark() {}\n}\nenum E { a }\nint top(int x) => x;\n",
        ["Dog", "Dog > bark", "E", "top"],
    ),
    "elixir": (
        'defmodule Shop.Cart do\n  @doc "adds"\n  def add(cart, item) do\n    cart\n  end\n'
        "  defp total(cart) when is_list(cart), do: 0\n  def empty, do: []\nend\n",
        ["Shop.Cart", "Shop.Cart > add", "Shop.Cart > total", "Shop.Cart > empty"],
    ),
    "go": (
        "package p\n\n// Server serves.\ntype Server struct{ port int }\n\n"
        "// Run runs.\nfunc (s *Server) Run() error { return nil }\n\nfunc main() {}\n"
        "const A = 1\n",
        ["Server", "Server.Run", "main", ""],
    ),
    "haskell": (
        "module M where\n\n-- | doubles\ndouble :: Int -> Int\ndouble x = x * 2\n\n"
        "data Shape = Circle | Square\n\nclass Area a where\n  area :: a -> Int\n",
        ["double", "Shape", "Area"],
    ),
    "hcl": (
        'resource "aws_instance" "web" {\n  ami = "x"\n}\nvariable "region" {}\n',
        ["resource.aws_instance.web", "variable.region"],
    ),
    "java": (
        "package p;\n/** Doc. */\n@Deprecated\npublic class A {\n  int f;\n  A() {}\n"
        "  /** m */\n  void m(int x) {}\n  enum E { X }\n}\ninterface I { void q(); }\n",
        ["A", "A > A", "A > m", "A > E", "I", "I > q"],
    ),
    "javascript": (
        "// adds\nexport function add(a, b) { return a + b }\nexport default class Foo {\n"
        "  bar() {}\n}\nconst baz = async () => 1\nmodule.exports.qux = function () {}\n"
        "const o = { run: () => 1 }\n",
        ["add", "Foo", "Foo > bar", "baz", "module.exports.qux", "run"],
    ),
    "julia": (
        "module M\nstruct Point\n  x\nend\nfunction area(p)\n  1\nend\nmacro m(x)\n  x\nend\nend\n",
        ["M", "M > Point", "M > area", "M > m"],
    ),
    "kotlin": (
        "class A {\n  fun f() {}\n}\nobject O { }\nfun top(x: Int) = x\n",
        ["A", "A > f", "O", "top"],
    ),
    "lua": (
        "-- adds\nfunction add(a, b) return a end\nlocal function loc() end\n"
        "M.f = function() end\nfunction M:m() end\n",
        ["add", "loc", "M.f", "M:m"],
    ),
    "make": ("# builds\nall: main.o\n\tcc -o x\n\nclean:\n\trm x\n", ["all", "clean"]),
    "objc": (
        "@interface Foo : NSObject\n- (void)bar;\n@end\n"
        "@implementation Foo\n- (void)bar { }\n@end\n"
        "int main(void) { return 0; }\n",
        ["Foo", "Foo", "Foo > bar", "main"],
    ),
    "ocaml": (
        "(* doubles *)\nlet double x = x * 2\n\ntype shape = Circle | Square\n\n"
        "module M = struct\n  let f x = x\nend\n",
        ["double", "shape", "M", "M > f"],
    ),
    "perl": (
        "package Foo;\n\n# greets\nsub greet {\n  my $x = shift;\n}\n"
        "\n=head2 doc\n\ntext\n\n=cut\n\n"
        "sub bye { 1 }\n",
        ["greet", "bye"],
    ),
    "php": (
        "<?php\n/** doc */\nclass A {\n  public function m($x) {}\n}\ninterface I {}\ntrait T {}\n"
        "function f() {}\n",
        ["A", "A > m", "I", "T", "f"],
    ),
    "powershell": (
        "# gets\nfunction Get-Thing {\n  param($x)\n}\nclass C {\n  [int]$x\n}\n",
        ["Get-Thing", "C"],
    ),
    "python": (
        "# lead\n@decorated\nclass A:\n    '''doc'''\n    @property\n"
        "    def p(self):\n        pass\n"
        "    async def q(self): pass\ndef f():\n    def inner(): pass\n",
        ["A", "A > p", "A > q", "f", "f > inner"],
    ),
    "r": (
        "# adds\nadd <- function(a, b) {\n  a + b\n}\nsub = function(a) a\n",
        ["add", "sub"],
    ),
    "ruby": (
        "# doc\nmodule M\n  class A < B\n    def m(x)\n    end\n    def self.s; end\n  end\nend\n",
        ["M", "M > A", "M > A > m", "M > A > s"],
    ),
    "rust": (
        "/// doc\n#[derive(Debug)]\npub struct P { x: i32 }\nimpl P {\n    /// n\n"
        "    pub fn new() -> P { P { x: 1 } }\n}\n"
        "pub trait T { fn t(&self); }\nmod m { fn g() {} }\n"
        "macro_rules! mac { () => {} }\n",
        ["P", "P", "P > new", "T", "T > t", "m", "m > g", "mac"],
    ),
    "scala": (
        "object O {\n  def f(x: Int): Int = x\n}\nclass C\ntrait T { def g: Int }\n",
        ["O", "O > f", "C", "T", "T > g"],
    ),
    "sql": (
        "-- users\nCREATE TABLE users (id INT);\nCREATE VIEW v AS SELECT 1;\n",
        ["users", "v"],
    ),
    "swift": (
        "/// doc\nclass A {\n  init() {}\n  func m(x: Int) {}\n}\nprotocol P { }\nstruct S { }\n"
        "func top() {}\n",
        ["A", "A > init", "A > m", "P", "S", "top"],
    ),
    "tsx": ("export const App = () => <div/>\nfunction F(): void {}\n", ["App", "F"]),
    "typescript": (
        "/** doc */\nexport interface I { a: string }\nexport type T = string\nenum E { A }\n"
        "export abstract class C {\n  @dec()\n  m(): void {}\n}\nnamespace N { function f() {} }\n"
        "declare function g(): void\n",
        ["I", "T", "E", "C", "C > m", "N", "N > f", "g"],
    ),
    "zig": (
        '/// adds\npub fn add(a: i32) i32 {\n    return a;\n}\ntest "t" {}\n',
        ["add", "t"],
    ),
}
SAMPLES |= {name: tuple(one) for name, one in read_samples("definitions").items()}


def titles(source: str, language: str) -> list[str]:
    """The paths of definitions in order, without the marks where enclosing ones go on."""
    return [
        " > ".join(mark.title)
        for mark in code.code_marks(source.encode(), language)
        if mark.identifiers
    ]


@pytest.mark.parametrize("language", sorted(SAMPLES))
def test_definitions_are_found_with_the_path_to_them(language: str) -> None:
    source, expected = SAMPLES[language]
    assert titles(source, language) == expected


def test_every_language_has_a_sample() -> None:
    assert set(SAMPLES) == set(grammars.QUERIES)


@pytest.mark.parametrize("language", sorted(SAMPLES))
def test_broken_programs_still_become_chunks(language: str) -> None:
    source, _ = SAMPLES[language]
    for broken in (source[: len(source) // 2], source[len(source) // 3 :], "}}}((( " + source * 3):
        document = kb.chunking.chunk(broken.encode(), language=language)
        assert "".join(chunk.text for chunk in document) == broken


@pytest.mark.parametrize(
    ("language", "data"),
    [
        ("r", b"| a | b |\n" * 20_000),
        ("julia", b"\x80" * 100_000),
        ("scala", "\U0001f600".encode() * 40_000),
        ("python", b"(" * 100_000),
        ("haskell", b"<!-- \n" * 10_000),
    ],
)
def test_what_a_parser_would_not_end_on_is_cut_as_text(language: str, data: bytes) -> None:
    document = kb.chunking.chunk(data, language=language)
    assert document.chunks[-1].end_byte == len(data)
    assert titles("x" * 20_000 + "\n" + SAMPLES[language][0], language) == []
