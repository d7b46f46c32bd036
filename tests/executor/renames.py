"""A folder that tests rename, and programs that do so in all kinds of ways."""

from __future__ import annotations

import os
from pathlib import Path

IN_WORDS = """
import ctypes, errno, json, os, shutil, sys, threading, time
def tree(top='.'):
    'All that a name carries along, by path.'
    found = {}
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            info = os.lstat(path)
            moved_about = os.path.isdir(path) and not os.path.islink(path)
            found[path] = [oct(info.st_mode), os.readlink(path) if os.path.islink(path) else
                           sorted(os.listxattr(path)) if moved_about else open(path).read(),
                           info.st_mtime_ns]
    return found
def tried(act):
    try:
        return act() or 'done'
    except OSError as error:
        return errno.errorcode[error.errno]
"""


def plant(folder: Path) -> None:
    """A folder `src` with what may be in one: levels, modes, times, attributes, links."""
    inner = folder / "src/inner/most"
    inner.mkdir(parents=True)
    for number in range(3):
        (inner / f"{number}.txt").write_text(f"{number}")
        (folder / f"src/{number}.txt").write_text(f"{number}")
    (folder / "src/link").symlink_to("inner/most")
    (folder / "src/empty").mkdir(mode=0o700)
    (folder / "src/locked").mkdir()
    (folder / "src/locked/file").write_text("locked")
    (folder / "src/locked").chmod(0o555)
    os.setxattr(folder / "src/inner", "user.said", b"so")
    for path in ("src/inner/most", "src/inner", "src/empty", "src"):
        os.utime(folder / path, ns=(10**18 + 1, 10**18 + 2))


def names(folder: Path) -> set[str]:
    """All paths below, a folder's with a slash at its end."""
    return {
        f"{path.relative_to(folder)}{'/' * (path.is_dir() and not path.is_symlink())}"
        for path in folder.rglob("*")
    }


# Each is done in the project, and on an ordinary file system beside it.
ANSWERS = """
libc = ctypes.CDLL(None, use_errno=True)
def with_flags(flags):
    if libc.renameat2(-100, b'src', -100, b'lib', flags) < 0:
        raise OSError(ctypes.get_errno(), '')
def from_inside():
    os.mkdir('aside')
    os.chdir('aside')
    os.rename('../src', 'lib')
def by_descriptors():
    one, other = os.open('src', os.O_PATH), os.open('.', os.O_PATH)
    os.rename('inner', 'lib', src_dir_fd=one, dst_dir_fd=other)
def there_and_back():
    os.rename('src', 'lib')
    os.rename('lib', 'src')
def onto(*below):
    os.makedirs(os.path.join('lib', *below), 0o711)
    os.rename('src', 'lib')
def a_plain_folder(folder):
    shutil.rmtree(folder)
    os.rename('src', folder)
CASES = {
    'a new name': lambda: os.rename('src', 'lib'),
    'an absolute path': lambda: os.rename(os.path.abspath('src'), os.path.abspath('lib')),
    'slashes behind': lambda: os.rename('src//', 'lib/'),
    'from another folder': from_inside,
    'by descriptors': by_descriptors,
    'there and back': there_and_back,
    'a folder within': lambda: os.rename('src/inner', 'src/locked2'),
    'out of a locked folder': lambda: os.rename('src/locked', 'src/empty/locked'),
    'onto an empty folder': onto,
    'onto a folder with a file': lambda: onto('below'),
    'onto what was emptied': lambda: a_plain_folder('src/inner'),
    'onto one of the project': lambda: os.rename('src/inner', 'src/empty'),
    'onto a full one of the project': lambda: os.rename('src/empty', 'src/inner'),
    'onto a file': lambda: os.rename('src/inner', 'src/0.txt'),
    'a file onto it': lambda: os.rename('src/0.txt', 'src/inner'),
    'itself': lambda: os.rename('src', 'src'),
    'into itself': lambda: os.rename('src', 'src/inner/src'),
    'onto its own parent': lambda: os.rename('src/inner', 'src'),
    'nothing': lambda: os.rename('none', 'lib'),
    'into nothing': lambda: os.rename('src', 'none/lib'),
    'a dot': lambda: os.rename('src/.', 'lib'),
    'two dots': lambda: os.rename('src/inner/..', 'lib'),
    'to a dot': lambda: os.rename('src', '.'),
    'a link with a slash': lambda: os.rename('src/link/', 'lib'),
    'by way of a link': lambda: os.rename('src/link', 'lib'),
    'below a link': lambda: (os.rename('src/inner', 'lib'), os.symlink('lib', 'src/inner'),
                             os.rename('src/inner/most', 'most')) and None,
    'too long a name': lambda: os.rename('src', 'x' * 300),
    'too long a path': lambda: os.rename('src', 'x/' * 3000),
    'no replacing': lambda: (os.mkdir('lib'), with_flags(1)) and None,
    'nothing to replace': lambda: with_flags(1),
    'absurd flags': lambda: with_flags(0x80),
}
def answer(place, act):
    os.chdir(place)
    said = tried(act)
    os.chdir(place)
    return said, tree()
here = os.path.abspath('.')
different = {}
for number, (name, act) in enumerate(CASES.items()):
    copy = os.path.join(os.environ['TMPDIR'], str(number))
    shutil.copytree(os.path.join(here, str(number)), copy, symlinks=True)
    ours, kernel = answer(os.path.join(here, str(number)), act), answer(copy, act)
    for said, found in (ours, kernel):  # what the case itself has made has its own time
        for path in ('./aside', './aside/lib') if said == 'done' else ('./lib', './aside'):
            found.get(path, [0, 0, 0])[2] = 0
    if ours[0] != kernel[0]:
        different[name] = [ours[0], kernel[0]]
    elif {p: v[:2] for p, v in ours[1].items()} != {p: v[:2] for p, v in kernel[1].items()}:
        different[name] = [ours[1], kernel[1]]
    elif name == 'a new name' and ours != kernel:
        different[name + ', times'] = [ours[1], kernel[1]]
print(json.dumps([len(CASES), different]))
"""
COUNT = 31
