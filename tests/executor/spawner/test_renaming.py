"""A folder that the run did not make is renamed as the kernel renames any other."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from executor import Limits, Status
from tests.executor.renames import ANSWERS, COUNT, IN_WORDS, names, plant

pytestmark = pytest.mark.tier_a

GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
PROGRAMS = {
    "python": ("python", "import os; os.rename('src', 'lib')"),
    "mv": ("shell", "mv -T src lib"),
    "node": ("javascript", "require('fs').renameSync('src', 'lib')"),
    "ruby": ("ruby", "File.rename('src', 'lib')"),
    "perl": ("perl", "rename('src', 'lib') or die $!;"),
    "php": ("php", "rename('src', 'lib') or exit(1);"),
    "go": (
        "go",
        'package main\nimport "os"\n'
        'func main() { if e := os.Rename("src", "lib"); e != nil { panic(e) } }',
    ),
}


@pytest.mark.parametrize(("language", "code"), PROGRAMS.values(), ids=PROGRAMS)
async def test_programs_of_all_kinds_rename_folders(language, code, project, run):
    plant(project)
    moved = {path.replace("src/", "lib/", 1) for path in names(project)}
    result = await run(language, code)
    assert (result.status, result.stderr.text) == (Status.OK, "")
    assert {(file.path, file.change) for file in result.changed_files} == {
        ("src", "deleted"),
        *((path, "created") for path in moved),
    }
    assert (project / "src/inner/most/1.txt").exists()


async def test_git_moves_a_folder(project, run):
    (project / "src").mkdir()
    for number in range(200):
        (project / f"src/{number}.txt").write_text(f"{number}")
    for command in ("init -q", "add .", "-c user.name=a -c user.email=a@b commit -qm one"):
        subprocess.run(["git", *command.split()], cwd=project, env=os.environ | GIT, check=True)
    result = await run("shell", "git mv src lib && git status --short | grep -c ^R; ls lib | wc -l")
    assert (result.stdout.text, result.stderr.text) == ("200\n200\n", "")


async def test_a_rename_answers_and_leaves_what_it_does_elsewhere(project, run):
    for number in range(COUNT):
        (project / str(number)).mkdir()
        plant(project / str(number))
    result = await run("python", IN_WORDS + ANSWERS)
    assert result.stderr.text == ""
    count, different = json.loads(result.stdout.text)
    assert (count, different) == (COUNT, {})


WITHIN = """
before = tree()
said = tried(lambda: os.rename('src', 'lib'))
print(json.dumps([said, tree() == before, os.path.exists('lib')]))
"""


async def test_a_folder_with_a_covered_secret_stays_as_it_is(project, run):
    plant(project)
    (project / "src/inner/.env").write_text("KEY=hidden")
    code = IN_WORDS.replace("open(path).read()", "tried(lambda: open(path).read())") + WITHIN
    result = await run("python", code)
    assert json.loads(result.stdout.text) == ["EBUSY", True, False]


async def test_what_fails_midway_is_put_back(project, run):
    plant(project)
    (project / "src/inner/most/large").write_bytes(bytes(8_000_000))
    result = await run("python", IN_WORDS + WITHIN, limits=Limits(scratch_bytes=4_000_000))
    assert json.loads(result.stdout.text) == ["ENOSPC", True, False], result.stderr.text
    result = await run("python", IN_WORDS + WITHIN, limits=Limits(scratch_bytes=40_000_000))
    assert json.loads(result.stdout.text) == ["done", False, True]


async def test_another_file_system_stays_another(project, run):
    plant(project)
    code = "print(tried(lambda: os.rename('src', os.environ['TMPDIR'] + '/lib')), os.listdir('.'))"
    assert (await run("python", IN_WORDS + code)).stdout.text == "EXDEV ['src']\n"


async def test_large_and_deep_folders_are_moved(project, run):
    (project / "large").mkdir()
    for number in range(1000):
        (project / f"large/{number}").touch()
    os.makedirs(project / "deep" / "/".join("d" * 400))
    code = """
os.rename('large', 'moved'); os.rename('deep', 'moved/deep')
print(len(os.listdir('moved')), os.path.isdir('moved/deep/' + '/'.join('d' * 400)), os.listdir())
"""
    assert (await run("python", IN_WORDS + code)).stdout.text == "1001 True ['moved']\n"


async def test_threads_and_processes_rename_at_once(project, run):
    for number in range(24):
        (project / f"{number}/below").mkdir(parents=True)
        (project / f"{number}/below/file").write_text(f"{number}")
    code = """
import warnings
warnings.simplefilter('ignore')  # newer releases of Python advise against the fork below
def move(number):
    for name in range(number, number + 3):
        os.rename(str(name), f'moved-{name}')
        os.rename(f'moved-{name}/below/file', f'moved-{name}/file')
threads = [threading.Thread(target=move, args=(number,)) for number in range(0, 12, 3)]
for thread in threads: thread.start()
for number in range(12, 24, 3):
    if os.fork() == 0:
        move(number)
        os._exit(0)
for thread in threads: thread.join()
for _ in range(4): assert os.wait()[1] == 0
print([open(f'moved-{n}/file').read() for n in range(24)] == [str(n) for n in range(24)])
"""
    result = await run("python", IN_WORDS + code)
    assert (result.stdout.text, result.stderr.text) == ("True\n", "")


async def test_one_folder_is_moved_once_however_many_ask(project, run):
    plant(project)
    code = """
said = []
def ask(number): said.append(tried(lambda: os.rename('src', f'lib-{number}')))
threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
found = [sum(name.endswith('.txt') for name in (*files,)) for _, _, files in os.walk('.')]
print(said.count('done') >= 1, sum(found))
"""
    result = await run("python", IN_WORDS + code)
    assert (result.stdout.text, result.stderr.text) == ("True 6\n", "")


async def test_who_is_killed_amid_a_rename_leaves_it_to_its_end(project, run):
    (project / "src/last").mkdir(parents=True)
    for number in range(2000):
        (project / f"src/{number}").touch()
    code = """
import signal
pid = os.fork()
if pid == 0:
    os.rename('src', 'lib')
    os._exit(0)
while not os.path.isdir('lib'): time.sleep(0.001)
os.kill(pid, signal.SIGKILL)
_, status = os.waitpid(pid, 0)
until = time.monotonic() + 30
while os.path.isdir('src') and time.monotonic() < until: time.sleep(0.01)
print(os.listdir('.'), len(os.listdir('lib')))
"""
    assert (await run("python", IN_WORDS + code)).stdout.text == "['lib'] 2001\n"


async def test_a_run_that_never_stops_renaming_meets_its_limit(project, run):
    plant(project)
    code = """
for number in range(6): shutil.copytree('src', f'src-{number}')
def ask():
    while True: tried(lambda: os.rename('src', 'lib')), tried(lambda: os.rename('lib', 'src'))
for _ in range(8): threading.Thread(target=ask).start()
"""
    result = await run("python", IN_WORDS + code, limits=Limits(wall_s=2))
    assert result.status is Status.TIMED_OUT


async def test_a_session_renames_in_any_call(project, run):
    plant(project)
    code = "import os; os.rename('src', 'lib'); print(sorted(os.listdir('lib')))"
    first = await run("python", "print(1)", session="one")
    second = await run("python", code, session="one")
    third = await run("shell", "mv -T lib src; mv -T src/inner inner; ls", session="one")
    assert [first.stdout.text, third.stdout.text] == ["1\n", "inner\nsrc\n"], third.stderr.text
    assert "'inner'" in second.stdout.text, second.stderr.text


async def test_a_session_renames_what_it_made_in_an_earlier_view(project, run):
    plant(project)
    await run("shell", "mkdir mine; touch mine/file", session="one")
    (project / "of the host").mkdir()  # so that the view is renewed
    code = "import os; os.rename('mine', 'yours'); print(os.listdir('yours'))"
    assert (await run("python", code, session="one")).stdout.text == "['file']\n"


async def test_the_steps_of_a_compiled_program_rename(project, run):
    plant(project)
    code = """
    #include <stdio.h>
    int main(void) { if (rename("src", "lib")) { perror("rename"); return 1; } return 0; }
    """
    result = await run("c", code)
    assert (result.status, result.stderr.text) == (Status.OK, "")


SWAPS = """
# What is asked for changes all the while: the names in memory, and the link that leads to them.
texts = (b'door/src', b'door/lib', b'/etc', b'/job', b'src/.env')
paths = [text.ljust(9, b'\\0') for text in texts]
libc = ctypes.CDLL(None, use_errno=True)
one, other = (ctypes.create_string_buffer(path, 9) for path in paths[:2])
places = ['.', '/', '/job', '/etc', '/proc/1/root', '/proc/1/cwd']
os.symlink('.', 'door')
over = False
def swap_names():
    turn = 0
    while not over:
        turn += 1
        ctypes.memmove(one, paths[turn % len(paths)], 9)
        ctypes.memmove(other, paths[turn // 3 % len(paths)], 9)
def swap_links():
    turn = 0
    while not over:
        turn += 1
        os.symlink(places[turn % len(places)], f'door-{turn}')
        os.rename(f'door-{turn}', 'door')
outside = {place: sorted(os.listdir(place)) for place in ('/', '/etc', '/job')}
for act in (swap_names, swap_links): threading.Thread(target=act).start()
done = 0
until = time.monotonic() + 4
while time.monotonic() < until:
    done += libc.rename(one, other) == 0
    done += tried(lambda: os.rename('door/src', 'door/lib')) == 'done'
    done += tried(lambda: os.rename('door/lib', 'door/src')) == 'done'
over = True
same = outside == {place: sorted(os.listdir(place)) for place in outside}
read = [path for path, _, files in os.walk('.') for name in files
        if 'hidden' in str(tried(lambda: open(os.path.join(path, name)).read()))]
print(json.dumps([done > 0, same, read]))
"""


@pytest.mark.parametrize("covered", [True, False])
async def test_who_changes_what_it_asked_for_gains_nothing(covered, project, run):
    """Where no secret is covered the same program moves folders: the attack does take place."""
    plant(project)
    (project / ("src/.env" if covered else "src/plain")).write_text("KEY=hidden")
    result = await run("python", IN_WORDS + SWAPS, limits=Limits(wall_s=30))
    assert result.stderr.text == ""
    done, same, read = json.loads(result.stdout.text)
    assert (same, bool(read)) == (True, not covered)
    assert done or covered


async def test_who_moves_a_folder_is_confined_as_the_program_is(project, run):
    (project / "src").mkdir()
    for number in range(3000):
        (project / f"src/{number}").touch()
    code = """
def status(pid):
    fields = dict(line.split(':', 1) for line in open(f'/proc/{pid}/status'))
    held = ('Uid', 'Gid', 'Groups', 'CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb',
            'NoNewPrivs', 'Seccomp')
    return [fields['PPid'].strip()] + [fields[name].strip() for name in held]
def look():
    while not os.path.exists('lib/0'): time.sleep(0.0005)
    while os.path.exists('src') and not seen:
        for pid in set(filter(str.isdigit, os.listdir('/proc'))) - {'1', str(os.getpid())}:
            seen.append(status(pid))
seen = []
looking = threading.Thread(target=look)
looking.start()
os.rename('src', 'lib')
looking.join()
print(seen == [status('self')], seen[0][0], len(os.listdir('lib')))
"""
    result = await run("python", IN_WORDS + code)
    assert (result.stdout.text, result.stderr.text) == ("True 1 3000\n", "")
