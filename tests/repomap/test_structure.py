from __future__ import annotations

import pytest

from kb import grammars
from repomap.import_queries import QUERIES
from repomap.model import LINE_CHARS
from repomap.structure import (
    KINDS,
    REFERENCES_MAX,
    SKELETON_BYTES,
    SKELETON_LINES,
    SYMBOLS_MAX,
    describe_structure,
)

# Language, text, symbols with their kinds, modules that are imported, purpose.
SAMPLES = [
    ("bash", "#!/bin/sh\n# Greets.\nset -e\ngreet() {\n  echo hi\n}\n", "greet function", "",
     "Greets."),
    ("c", '#include "x.h"\n#include <stdio.h>\n#include X\n/* Adds. */\n'
     "int f(int a) { return a; }\nstruct s { int x; };\n#define MAX(a, b) ((a) > (b))\n",
     "f function, s type, MAX function", "x.h stdio.h", "Adds."),
    ("cpp", '#include "a/b.hpp"\nnamespace n {\ntemplate <class T>\nclass C { int m() { return 1; '
     "} };\nint g() { return 1; }\n}\n",
     "n module, n.C class, n.C.m method, n.g function", "a/b.hpp", ""),
    ("csharp", "using A.B;\nusing static A.C;\nglobal using X = A.D<int>;\nusing P = (int, int);\n"
     "/// <summary>\n/// Holds it.\n/// </summary>\nclass K { K() {} void M() {} }\n",
     "K class, K.K method, K.M method", "A.B A.C A.D", "Holds it."),
    ("dart", "/// Barks.\nclass Dog {\n  void bark() {}\n}\nenum E { a }\nint top(int x) => x;\n",
     "Dog class, Dog.bark method, E type, top function", "", "Barks."),
    ("elixir", 'defmodule A.B do\n  @moduledoc """\n  Counts.\n  """\n  def f(x), do: x\nend\n',
     "A.B module, A.B.f function", "", "Counts."),
    ("go", '// Package p does it.\npackage p\n\nimport (\n\t"fmt"\n\tq "m/q"\n)\n\n'
     "type S struct{}\n\nfunc (s *S) Run() {}\n",
     "S type, S.Run method", "fmt m/q", "Package p does it."),
    ("haskell", "{-# LANGUAGE X #-}\n{-| Doubles. -}\nmodule M where\n\ndouble x = x * 2\n\n"
     "data Shape = Circle\n",
     "double function, Shape type", "", "Doubles."),
    ("hcl", '# A server.\nresource "a" "b" {\n  c = 1\n}\n', "resource.a.b definition", "",
     "A server."),
    ("java", "package p;\nimport a.b.C;\nimport static a.D.x;\nimport a.e.*;\n/** Does it. */\n"
     "class D { D() {} void m() {} enum E { X } }\n",
     "D class, D.D method, D.m method, D.E type", "a.b.C a.D.x a.e.*", "Does it."),
    ("javascript", "// Routes.\nimport x from './x'\nexport { q } from 'q'\n"
     "const y = require('y')\nimport('z')\nother('no')\nexport function f() {}\n"
     "class B { m() {} }\nconst g = async (a) => 1\nexports.h = function () {}\n",
     "f function, B class, B.m method, g function, exports.h function", "./x q y z", "Routes."),
    ("julia", "# Area.\nmodule M\nstruct P\n  x\nend\nfunction area(p)\n  1\nend\nend\n",
     "M module, M.P type, M.area function", "", "Area."),
    ("kotlin", "package p\nimport a.b.C\nimport a.d.*\nimport a.E as F\n"
     "class A {\n  fun f() {}\n}\nobject O { fun g() {} }\nfun top(x: Int) = x\n",
     "A class, A.f method, O module, O.g method, top function", "a.b.C a.d.* a.E", ""),
    ("lua", "--[[ Adds. ]]\nfunction add(a) return a end\nM.f = function() end\n",
     "add function, M.f function", "", "Adds."),
    ("make", "# Builds.\nall: main.o\n\tcc -o x\n", "all definition", "", "Builds."),
    ("nim", "# Adds.\nimport std/os\nfrom util import f\nproc add*(a, b: int): int = a + b\n"
     "type Shop = object\n  n: int\n", "add function, Shop type", "std/os util", "Adds."),
    ("objc", '#import "a.h"\n#import <b/c.h>\n@implementation Foo\n- (void)bar { }\n@end\n',
     "Foo class, Foo.bar method", "a.h b/c.h", ""),
    ("ocaml", "(* Doubles. *)\nlet double x = x * 2\ntype t = A | B\nmodule M = struct\nend\n",
     "double function, t type, M module", "", "Doubles."),
    ("perl", "# Greets.\npackage Foo;\nsub greet { 1 }\n", "greet function", "", "Greets."),
    ("php", "<?php\nnamespace N;\nuse A\\B;\nuse A\\{C, D as E};\nuse function A\\f;\n"
     "require_once __DIR__ . '/x.php';\ninclude('y.php');\ninclude $z;\n/** Does it. */\n"
     "class K { use T; function m() {} }\nfunction g() {}\n",
     "K class, K.m method, g function", "A\\B A A\\f /x.php y.php", "Does it."),
    ("powershell", "<#\nGets it.\n#>\nfunction Get-It {\n  param($x)\n}\nclass C {\n}\n",
     "Get-It function, C class", "", "Gets it."),
    ("python", '"""Doc of it. More."""\nfrom ..a import b, c as d\nimport e.f as g, h\n\n'
     "class A:\n    def f(self): return 1\n\ndef g():\n    def inner(): pass\n",
     "A class, A.f method, g function, g.inner function", "..a e.f h", "Doc of it."),
    ("r", "#' Adds.\nadd <- function(a, b) {\n  a + b\n}\n", "add function", "", "Adds."),
    ("ruby", "# frozen_string_literal: true\n=begin\nLoads.\n=end\nrequire_relative 'a'\n"
     "require 'b'\nautoload :C, 'c'\nrequire \"#{d}\"\nYAML.load 'no'\n"
     "module M\n  class C\n    def m; end\n  end\nend\n",
     "M module, M.C class, M.C.m method", "a b c", "Loads."),
    ("rust", "//! Crate of it.\nextern crate z;\nuse crate::a::b;\nuse d::{\n    e,\n    f,\n};\n"
     "mod c;\npub fn f() {}\nimpl T { fn g(&self) {} }\nmod m { fn h() {} }\nconst K: u8 = 1;\n",
     "c module, f function, T module, T.g method, m module, m.h function, K constant",
     "z crate::a::b d::{_e,_f,_} c", "Crate of it."),
    ("scala", "import a.b.C\nimport a.{D, E => F}, g._\nobject O {\n  def f(x: Int): Int = x\n}\n"
     "class K\ntrait T\n",
     "O module, O.f method, K class, T type", "a.b.C a g._", ""),
    ("sql", "-- Users.\nCREATE TABLE users (id INT);\n", "users definition", "", "Users."),
    ("swift", "/// Does it.\nclass A {\n  init() {}\n  func m(x: Int) {}\n}\nprotocol P { }\n",
     "A class, A.init method, A.m method, P type", "", "Does it."),
    ("tsx", "import { a } from './a'\nexport const App = () => <div/>\n",
     "App function", "./a", ""),
    ("typescript", "export * from '../z'\nimport x = require('y')\n"
     "export interface I { a: string }\nexport function g(): void {}\n"
     "namespace N { function f() {} }\n",
     "I type, g function, N module, N.f function", "../z y", ""),
    ("zig", "//! Adds.\npub fn add(a: i32) i32 {\n    return a;\n}\nconst P = struct { x: i32 };\n",
     "add function, P type", "", "Adds."),
    ("markdown", "---\na: b\n---\n# Top\n\n```\n# no\n```\n## Low ##\n#### no\n",
     "Top heading, Low heading", "", "Top"),
    ("rst", ".. _label:\n\nTop\n===\n\n# no\n", "", "", "Top"),
    ("json", '{"a": 1}\n', "", "", ""),
    (None, "\n*** Notes ***\nMore.\n", "", "", "Notes"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("language", "text", "symbols", "imports", "purpose"),
    SAMPLES,
    ids=[str(row[0]) for row in SAMPLES],
)
def test_a_file_is_described(language, text, symbols, imports, purpose):
    found = describe_structure(text.encode(), language)
    assert ", ".join(f"{one.full_name} {one.kind}" for one in found.symbols) == symbols
    assert " ".join(one.module.replace(" ", "_") for one in found.imports) == imports
    assert found.purpose == purpose
    assert found.note == ""
    assert {one.kind for one in found.symbols} <= KINDS | {"heading"}


def test_every_language_with_a_grammar_has_a_sample():
    languages = {row[0] for row in SAMPLES}
    assert set(grammars.QUERIES) <= languages
    assert set(QUERIES) == {row[0] for row in SAMPLES if row[3]}


@pytest.mark.parametrize(
    ("language", "text", "module", "names", "form"),
    [
        ("python", "from . import x, y as z", ".", ("x", "y"), ""),
        ("python", "from a import *", "a", (), ""),
        ("c", '#include "a.h"', "a.h", (), "quoted"),
        ("c", "#include <a.h>", "a.h", (), "angled"),
        ("rust", "mod a;", "a", (), "mod"),
        ("rust", "use a::{b, c};", "a::{b, c}", (), "use"),
        ("ruby", "require_relative('a')", "a", (), "relative"),
        ("ruby", "require 'a'", "a", (), ""),
        ("php", "<?php use A\\{B, C as D};", "A", ("B", "C"), "use"),
        ("php", "<?php require dirname(__FILE__) . '/a.php';", "/a.php", (), "file"),
        ("scala", "import a.{B => C, D}", "a", ("B", "D"), ""),
    ],
)
def test_an_import_has_its_names_and_form(language, text, module, names, form):
    (one,) = describe_structure(f"{text}\n".encode(), language).imports
    assert (one.module, one.names, one.form) == (module, names, form)


def test_a_long_use_keeps_whole_paths():
    text = f"use a::{{{', '.join(f'name{n:04}' for n in range(500))}}};\n"
    (one,) = describe_structure(text.encode(), "rust").imports
    assert one.module.endswith(one.module.rpartition(" ")[2])
    assert len(one.module.rpartition(" ")[2]) == len("name0000")


@pytest.mark.parametrize(
    ("language", "text", "references"),
    [
        ("python", "# word\nfoo.bar('text', foo)  # more\nif ab: pass\n", "foo 2, bar 1"),
        ("javascript", "import {abc} from 'no'\nabc(`no ${def_}`)\n", "abc 2, def_ 1"),
        ("go", 'package main\n\nfunc f(x Type) { x.Call("no") }\n', "Call 1, Type 1, main 1"),
        ("ruby", "Foo.bar?(:no)\n", "Foo 1, bar? 1"),
        ("php", "<?php $some = new Other();\n", "Other 1, some 1"),
        ("powershell", "Get-Thing $value\n", "Get-Thing 1, value 1"),
        ("bash", "run_it one\n", "one 1, run_it 1"),
        ("elixir", "Shop.add(cart)\n", "Shop 1, add 1, cart 1"),
        ("haskell", "run = Make thing\n", "Make 1, run 1, thing 1"),
        ("python", "größe = 1\n", "größe 1"),
    ],
)  # fmt: skip
def test_references_are_names_in_the_program_not_in_its_texts(language, text, references):
    found = describe_structure(text.encode(), language).references
    assert ", ".join(f"{name} {count}" for name, count in found) == references


@pytest.mark.parametrize(
    ("language", "text", "skeleton"),
    [
        (
            "python",
            'class A(Base):\n    """Holds it.\n\n    More."""\n\n    # Adds one.\n'
            "    def f(self, a: int,\n          b: int) -> int:\n        return a\n",
            "class A(Base)  # Holds it.\n  def f(self, a: int, b: int) -> int  # Adds one.",
        ),
        ("python", "@wraps(\n    it,\n)\ndef f():\n    'Does.'\n", "def f()  # Does."),
        ("javascript", "export function f(a) {}\n", "function f(a)"),
        ("javascript", "/** Does. */\nexport const f = async (a) => 1\n",
         "const f = async (a)  # Does."),
        ("cpp", "// Holds.\ntemplate <class T>\nclass A { };\n", "class A  # Holds."),
        ("rust", "/// Does.\n#[derive(A)]\nstruct B { x: u8 }\n", "struct B  # Does."),
        ("rust", "const A: u8 = 1;\nmod m {\n    const B: u8 = 2;\n}\n", "mod m\n  const B: u8"),
        ("csharp", "/// <summary>Does.</summary>\nclass A { }\n", "class A  # Does."),
        ("kotlin", "fun f(a: Int): Int {\n  return a\n}\n", "fun f(a: Int): Int"),
    ],
)  # fmt: skip
def test_a_skeleton_has_signatures_with_their_documentation(language, text, skeleton):
    assert describe_structure(text.encode(), language).skeleton == skeleton


def test_a_definition_has_the_lines_from_its_comment_to_its_end():
    text = "x = 1\n\n# About f.\n@a\ndef f():\n    pass\n\n\ndef g(): pass"
    found = describe_structure(text.encode(), "python").symbols
    assert [(one.name, one.start_line, one.end_line) for one in found] == [("f", 3, 6), ("g", 9, 9)]


@pytest.mark.parametrize(
    ("text", "purpose"),
    [
        ("#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# Counts.\n", "Counts."),
        ("# Copyright 2020 A\n# All rights reserved.\n\n# Counts.\n", "Counts."),
        ("# Copyright 2020 A\n#\n# Do what you like.\n\n# Counts.\n", "Counts."),
        ("# Counts.\n#\n# Copyright 2020 A\n", "Counts."),
        ("# =======\n# Counts.\n", "Counts."),
        ("import a\n", ""),
        ('"""Counts\nthings. And more."""\n', "Counts things."),
        ('"""Counts things\n\nAnd more. Much."""\n', "Counts things"),
        ('r"""Counts."""\n', "Counts."),
        ("# " + "x" * 500 + "\n", "x" * LINE_CHARS),
    ],
)
def test_a_purpose_is_no_licence_and_no_first_line_of_a_script(text, purpose):
    assert describe_structure(text.encode(), "python").purpose == purpose


def test_what_a_file_has_too_much_of_is_cut():
    functions = "".join(f"def function{n}(): pass\n" for n in range(SYMBOLS_MAX + 100))
    found = describe_structure(functions.encode(), "python")
    assert len(found.symbols) == SYMBOLS_MAX
    assert len(found.references) == REFERENCES_MAX
    assert len(found.skeleton.split("\n")) == SKELETON_LINES
    wide = "".join(f"def {'ü' * 70}{n}(): pass\n" for n in range(150))
    assert len(describe_structure(wide.encode(), "python").skeleton.encode()) <= SKELETON_BYTES


@pytest.mark.parametrize(
    ("data", "note"),
    [
        (b"# Counts.\nx = '" + b"y" * 2_000_000 + b"'\n", "too long for a parser"),
        (b"# Counts.\n" + b"(\n" * 60_000, "not python"),
    ],
    ids=["one line of 2 MB", "another language"],
)
def test_what_no_parser_reads_has_a_note_and_a_purpose(data, note):
    found = describe_structure(data, "python")
    assert note in found.note
    assert found.purpose == "Counts."
    assert (found.symbols, found.references, found.imports, found.skeleton) == ((), (), (), "")


HOSTILE = {
    "empty": b"",
    "nul": b"def f():\0\n",
    "nuls": b"\0" * 5000,
    "no utf-8": b"def f\xff\xfe():\n    pass\n" * 50,
    "deep": b"(" * 10_000,
    "deep lines": b"(\n" * 10_000,
    "deep blocks": b"".join(b" " * n + b"if x:\n" for n in range(400)),
    "deep functions": b"".join(b" " * n + b"def f():\n" for n in range(400)),
    "one line": b"x = 1; " * 290_000,
    "other language": b"<html><body>" + b"<div class='x'>text</div>\n" * 500,
    "prose": b"It is what it is, and that is all there is.\n" * 200,
    "comments": b"/*" * 5000,
    "quotes": b'"""' * 3001,
    "marks": b"-" * 8000 + b"\n" + b"#" * 8000,
    "long names": b"def " + b"x" * 9000 + b"(): pass\n",
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("language", [*sorted(grammars.QUERIES), "markdown", "nonesuch", None])
def test_no_text_makes_it_fail(data, language):
    found = describe_structure(data, language)
    lines = data.count(b"\n") + 1
    assert all(1 <= one.start_line <= one.end_line <= lines for one in found.symbols)
    assert all(len(one.name) <= LINE_CHARS for one in found.symbols)
    assert all(len(one.signature) <= LINE_CHARS for one in found.symbols)
    assert len(found.purpose) <= LINE_CHARS
