"""What is committed is what the same program leaves in the project when it runs there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.executor.project.conftest import OLD_NS, fill
from tests.executor.project.viewing import View, python, run, tree

STAMP = "os.utime({0!r}, ns=(1, {1}), follow_symlinks=False)\n"

TREES = {
    "nothing": "pass",
    "a new file": "open('new', 'w').write('new')",
    "an empty file": "open('new', 'w')",
    "a changed file": "open('a.txt', 'w').write('changed')",
    "a file changed in place": "open('a.txt', 'r+').write('A')",
    "appended": "open('a.txt', 'a').write('more')",
    "a cut file": "os.truncate('a.txt', 1)",
    "same size, other content": "open('a.txt', 'w').write('b\\n')",
    "written as it was": "open('a.txt', 'w').write('a\\n')",
    "replaced by rename": "open('t', 'w').write('t'); os.rename('t', 'a.txt')",
    "a deleted file": "os.unlink('a.txt')",
    "a mode": "os.chmod('a.txt', 0o755)",
    "a closed file": "os.chmod('a.txt', 0o000)",
    "a closed new file": "open('n', 'w').write('n'); os.chmod('n', 0o000)",
    "a mode and back": "os.chmod('a.txt', 0o755); os.chmod('a.txt', 0o644)",
    "a time": "os.utime('a.txt', ns=(5, 5_000_000_007))",
    "a link's time": "os.utime('link', ns=(5, 5_000_000_007), follow_symlinks=False)",
    "a folder's time": "os.utime('docs', ns=(5, 5_000_000_007))",
    "a folder's mode": "os.chmod('docs', 0o700)",
    "a new folder": "os.mkdir('n')",
    "new folders with files": "os.makedirs('n/m/o'); open('n/m/o/f', 'w').write('f'); open('n/g', 'w')",  # noqa: E501
    "a new folder's mode": "os.mkdir('n'); open('n/f', 'w'); os.chmod('n', 0o500)",
    "a new folder's time": "os.mkdir('n'); open('n/f', 'w'); os.utime('n', ns=(7, 7_000_000_001))",
    "a deleted empty folder": "os.rmdir('empty')",
    "a deleted tree": "shutil.rmtree('src')",
    "a deleted inner tree": "shutil.rmtree('src/deep')",
    "a tree made anew": "shutil.rmtree('docs'); os.mkdir('docs'); open('docs/new', 'w').write('n')",
    "an inner tree made anew": "shutil.rmtree('src'); os.makedirs('src/deep'); open('src/deep/y.txt', 'w').write('z')",  # noqa: E501
    "an empty tree made anew": "shutil.rmtree('docs'); os.mkdir('docs')",
    "a tree made the same": "shutil.copytree('docs', 'd'); shutil.rmtree('docs'); shutil.copytree('d', 'docs'); shutil.rmtree('d')",  # noqa: E501
    "file to folder": "os.unlink('a.txt'); os.mkdir('a.txt'); open('a.txt/f', 'w').write('f')",
    "file to deep folder": "os.unlink('a.txt'); os.makedirs('a.txt/b/c')",
    "folder to file": "shutil.rmtree('src'); open('src', 'w').write('s')",
    "empty folder to file": "os.rmdir('empty'); open('empty', 'w').write('s')",
    "folder to link": "shutil.rmtree('docs'); os.symlink('src', 'docs')",
    "file to link": "os.unlink('a.txt'); os.symlink('b.txt', 'a.txt')",
    "link to file": "os.unlink('link'); open('link', 'w').write('l')",
    "link to folder": "os.unlink('link'); os.mkdir('link'); open('link/f', 'w')",
    "another target": "os.unlink('link'); os.symlink('b.txt', 'link')",
    "a deleted link": "os.unlink('link')",
    "a new link": "os.symlink('src/main.c', 'l')",
    "a dangling link": "os.symlink('nowhere', 'l')",
    "a link to above, inside": "os.symlink('../../a.txt', 'src/deep/l')",
    "written through a link": "open('link', 'w').write('through')",
    "new hard links": "open('n', 'w').write('n'); os.link('n', 'm'); os.mkdir('d'); os.link('n', 'd/o')",  # noqa: E501
    "a hard link to an old file": "os.link('a.txt', 'same')",
    "a hard link in a new folder to an old file": "os.mkdir('d'); os.link('b.txt', 'd/same')",
    "a hard link to a changed file": "open('a.txt', 'w').write('c'); os.link('a.txt', 'same')",
    "one of two hard links deleted": "os.unlink('hard1')",
    "both hard links deleted": "os.unlink('hard1'); os.unlink('hard2')",
    "a renamed file": "os.rename('a.txt', 'c.txt')",
    "a file renamed into another folder": "os.rename('a.txt', 'docs/a.txt')",
    "two files exchanged": "os.rename('a.txt', 't'); os.rename('b.txt', 'a.txt'); os.rename('t', 'b.txt')",  # noqa: E501
    "a moved folder": "shutil.move('docs', 'papers')",
    "a folder moved into another": "shutil.move('docs', 'src/papers')",
    "attributes of a new file": "open('n', 'w'); os.setxattr('n', 'user.tag', b'n')",
    "attributes of an old file": "os.setxattr('a.txt', 'user.tag', b'a')",
    "a changed file keeps its attributes": "open('b.txt', 'a').write('b')",
    "an attribute taken away": "os.removexattr('b.txt', 'user.tag')",
    "a removed and new file": "os.unlink('a.txt'); open('a.txt', 'w').write('again')",
    "a sparse file": "f = open('n', 'wb'); f.seek(5 << 20); f.write(b'end'); f.close()",
    "a large file": "open('n', 'wb').write(bytes(range(256)) * 12000)",
    "many files": "os.mkdir('n'); [open(f'n/{i}', 'w').write(str(i)) for i in range(300)]",
    "odd names": "[open(n, 'w').write('x') for n in (b'\\xff\\xfe', 'a\\nb', '\\x1b[31m', ' ', '-rf', 'x' * 255, '\\u2028', '\"', \"'\")]",  # noqa: E501
    "an odd folder": "os.makedirs(b'\\xff\\n/x'); open(b'\\xff\\n/x/\\x01', 'w').write('x')",
    "a deep tree": "d = '/'.join('d' * 100); os.makedirs(d); open(d + '/f', 'w').write('f')",
    "much at once": "shutil.rmtree('src/deep'); open('src/new.c', 'w').write('n'); os.unlink('b.txt'); os.chmod('run.sh', 0o700); os.symlink('new.c', 'src/l')",  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize("code", TREES.values(), ids=TREES.keys())
def test_a_commit_leaves_what_a_run_in_the_project_leaves(any_view: View, tmp_path: Path, code):
    live = tmp_path / "live"
    live.mkdir()
    fill(live)
    # What a program writes now is stamped, as no two runs write at one moment.
    code += (
        "\nfor d, ds, fs in os.walk('.', topdown=False):"
        f"\n  for p in [d + '/' + n for n in ds + fs] :\n    i = os.lstat(p)"
        f"\n    if i.st_mtime_ns > {OLD_NS}: os.utime(p, ns=(8, 8_000_000_009), follow_symlinks=False)"  # noqa: E501
    )
    run(live, *python(code))
    any_view.run(*python(code))
    outcome = any_view.commit()
    assert outcome.left_out == ()
    assert tree(any_view.project) == tree(live)
    assert sorted(p.name for p in any_view.project.iterdir()) == sorted(os.listdir(live))


def test_nothing_is_told_where_nothing_was_changed(any_view: View):
    any_view.run(*python("os.chmod('a.txt', 0o644); open('b.txt', 'r+').close()"))
    outcome = any_view.commit()
    assert (outcome.changed, outcome.left_out, outcome.id) == ((), (), "")
