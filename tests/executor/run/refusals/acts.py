"""Acts that a sandbox refuses, and programs that do nothing it would: the tables of the tests.

`@word@` stands for a value of the test's place, `NR.name` for the number of a system call. Each act
that something permits has a control: the same program where it is permitted, which must succeed.
"""

# ruff: noqa: E501 - programs in other languages keep their lines

from __future__ import annotations

from typing import NamedTuple

from executor.model import MIB, Limits


class Control(NamedTuple):
    """Where the act is permitted: the profile, the limits, or another program."""

    profile: str = "analyze"
    limits: Limits | None = None
    text: str = ""


class Act(NamedTuple):
    """One refused act, and how it is to be named: kind, target, certainty, and part of a remedy."""

    language: str
    text: str
    kind: str
    target: str
    certainty: str
    remedy: str
    profile: str = "analyze"
    limits: Limits | None = None
    control: Control | None = None
    is_counted: bool = False  # by a control group: without one it is inferred, or not known
    copes: bool = False  # the program ends well, and the refusal is told even so


SYSCALL = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(*(ctypes.c_long(n) for n in ({numbers}))) < 0:
    sys.exit(os.strerror(ctypes.get_errno()))
"""


def call(*numbers: str) -> str:
    return SYSCALL.replace("{numbers}", ", ".join(numbers) + ",")


CONNECT = "import socket; socket.create_connection(({host}, {port}), 2)"


def connect(host: str, port: object) -> str:
    return CONNECT.replace("{host}", repr(host)).replace("{port}", str(port))


UNIX = "import socket; socket.socket(socket.AF_UNIX).connect({path})"
NOTHING = "nothing grants it"
SMALL = Limits(memory_bytes=64 * MIB)

ACTS = {
    "a name looked up": Act(
        "python", "import socket; socket.getaddrinfo('db.example.com', 5432)",
        "network", "db.example.com", "exact", 'network = ["db.example.com"]',
        control=Control(text="import socket; socket.getaddrinfo('localhost', 5432)"),
    ),
    "a name looked up by a shell": Act(
        "shell", "getent hosts www.example.org", "network", "www.example.org", "exact", "network = ",
    ),
    "a name looked up by node": Act(
        "javascript", "await fetch('http://api.example.net/v1')",
        "network", "api.example.net", "exact", "network = ",
    ),
    "a name looked up, and coped with": Act(
        "python",
        "import socket\ntry: socket.getaddrinfo('db.example.com', 1)\nexcept OSError: print('none')",
        "network", "db.example.com", "exact", "network = ", copes=True,
    ),
    "a name that the profile grants by the proxy alone": Act(
        "python", "import socket; socket.getaddrinfo('pypi.org', 443)",
        "network", "pypi.org", "exact", "HTTPS_PROXY", profile="online",
    ),
    "an address": Act(
        "python", connect("93.184.216.34", 80), "network", "93.184.216.34:80", "exact", "by name",
        control=Control(text="import socket\ns = socket.create_server(('127.0.0.1', 0))\n"
                        "socket.create_connection(s.getsockname(), 2)"),
    ),
    "an address of version 6": Act(
        "python", connect("2001:db8::1", 443), "network", "[2001:db8::1]:443", "exact", "by name",
    ),
    "an address, and coped with": Act(
        "ruby", "require 'socket'\nbegin; TCPSocket.new('192.0.2.7', 25); rescue SystemCallError; end",
        "network", "192.0.2.7:25", "exact", "by name", copes=True,
    ),
    "an address by datagrams": Act(
        "python", "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
        "s.connect(('8.8.8.8', 53))",
        "network", "8.8.8.8:53 by UDP", "exact", "by name",
    ),
    "a name that the proxy does not let through": Act(
        "python", "import urllib.request; urllib.request.urlopen('http://evil.example.org/')",
        "network", "evil.example.org", "exact", 'network = ["evil.example.org"]', profile="online",
    ),
    "a port of the host": Act(
        "python", connect("127.0.0.1", "@port@"), "network", "localhost:@port@", "inferred",
        'network = ["localhost:@port@"]', control=Control("local"),
    ),
    "a socket of the project": Act(
        "python", UNIX.replace("{path}", "'dev.sock'"),
        "socket", "dev.sock", "exact", 'sockets = ["dev.sock"]', control=Control("sockets"),
    ),
    "a socket of the host": Act(
        "python", UNIX.replace("{path}", "__import__('os').path.expanduser('~/@outside@/host.sock')"),
        "socket", "@home@/@outside@/host.sock", "exact", NOTHING,
    ),
    "an abstract socket of the host": Act(
        "python", UNIX.replace("{path}", "'\\0@abstract@'"), "socket", "@@abstract@", "exact", NOTHING,
    ),
    "a mount": Act("python", call("NR.mount", "0", "0", "0", "0", "0"), "call", "mount", "exact", NOTHING),
    "tracing": Act("python", call("NR.ptrace", "0", "0", "0", "0"), "call", "ptrace", "exact", NOTHING),
    "a program of the kernel's": Act("python", call("NR.bpf", "0", "0", "0"), "call", "bpf", "exact", NOTHING),
    "the keyring": Act("python", call("NR.keyctl", "0", "-3", "1"), "call", "keyctl", "exact", NOTHING),
    "a namespace": Act("shell", "unshare --user true", "call", "unshare", "exact", NOTHING),
    "a namespace by clone": Act(
        "python", call("NR.clone", "0x10000011", "0", "0", "0", "0"), "call", "clone", "exact", NOTHING,
    ),
    "another root": Act("perl", "chroot('/tmp') or die $!", "call", "chroot", "exact", NOTHING),
    "the kernel's log, and coped with": Act(
        "shell", "dmesg 2>/dev/null || true", "call", "syslog", "exact", NOTHING, copes=True,
    ),
    "the clock": Act("shell", "date -s '2001-01-01'", "call", "clock_settime", "exact", NOTHING),
    "rings": Act(
        "python", call("NR.io_uring_setup", "1", "0"), "call", "io_uring_setup", "exact", NOTHING,
    ),
    "raw packets": Act(
        "python", "import socket; socket.socket(17, socket.SOCK_RAW)",
        "call", "socket(AF_PACKET)", "exact", NOTHING,
    ),
    "the machine's audit": Act(
        "python", "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)",
        "call", "a socket of another protocol", "inferred", NOTHING,
        control=Control(text="import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)"),
    ),
    "a secret": Act(
        "shell", "cat .env", "read", ".env", "told", "nothing shows a secret",
        control=Control(text="cat plain.txt"),
    ),
    "a secret, by its whole path": Act(
        "python", "open('@project@/.env').read()", "read", ".env", "told", "nothing shows a secret",
    ),
    "a file of the host": Act(
        "shell", "cat ~/@outside@/data.csv", "read", "~/@outside@/data.csv", "inferred",
        'read = ["~/@outside@/data.csv"]', control=Control("reads"),
    ),
    "the system": Act("shell", "echo x > /usr/share/x", "write", "/usr/share/x", "inferred", "$TMPDIR"),
    "the system's settings": Act(
        "python", "open('/etc/hosts', 'w')", "write", "/etc/hosts", "inferred", "$TMPDIR",
        control=Control(text="open('/tmp/hosts', 'w')"),
    ),
    "the kernel's settings": Act(
        "shell", "echo 1 > /proc/sys/vm/drop_caches", "write", "/proc/sys/vm/drop_caches", "inferred", "$TMPDIR",
    ),
    "a project that is only read": Act(
        "javascript", "import fs from 'node:fs'; fs.writeFileSync('out.txt', 'x')",
        "write", "@project@/out.txt", "inferred", "profile build", profile="reading",
        control=Control("analyze"),
    ),
    "a device": Act(
        "shell", "mknod null c 1 3", "privilege", "a privileged operation", "inferred",
        "nothing grants a capability",
    ),
    "what tools obey": Act(
        "shell", "echo x > .envrc", "commit", ".envrc", "exact", '[names] ".envrc" = "commit"',
        profile="build", copes=True,
    ),
    "what a person looks at": Act(
        "shell", "echo x > AGENTS.md", "commit", "AGENTS.md", "exact", "changes apply",
        profile="build", copes=True,
    ),
    "memory": Act(
        "python", "x = bytearray(b'x' * 10 ** 9)", "limit", "memory_bytes", "exact", "--limit memory_bytes",
        limits=SMALL, is_counted=True, control=Control(text="x = bytearray(10 ** 6)", limits=SMALL),
    ),
    "a child's memory, and coped with": Act(
        "shell", "awk 'BEGIN { s = \"x\"; while (1) s = s s }' 2> /dev/null || true",
        "limit", "memory_bytes", "exact", "--limit memory_bytes", limits=SMALL,
        is_counted=True, copes=True,
    ),
    "time": Act(
        "shell", "sleep 30", "limit", "wall_s", "exact", "--limit wall_s", limits=Limits(wall_s=0.3),
        control=Control(text="sleep 0.1", limits=Limits(wall_s=30)),
    ),
    "processor time": Act(
        "shell", "while :; do :; done", "limit", "cpu_s", "exact", "--limit cpu_s",
        limits=Limits(cpu_s=0.3, wall_s=30),
    ),
    "output": Act(
        "shell", "yes", "limit", "output_bytes", "exact", "--limit output_bytes",
        limits=Limits(output_bytes=100_000),
    ),
    "processes": Act(
        "shell", "for n in $(seq 40); do sleep 5 & done; wait", "limit", "processes", "exact",
        "--limit processes", limits=Limits(processes=12, wall_s=20), is_counted=True,
    ),
    "scratch": Act(
        "shell", "head -c 9000000 /dev/zero > /tmp/x", "limit", "scratch_bytes", "exact",
        "--limit scratch_bytes", limits=Limits(scratch_bytes=MIB),
    ),
    "a large file": Act(
        "shell", "head -c 4000000 /dev/zero > /tmp/x", "limit", "file_bytes", "inferred",
        "--limit file_bytes", limits=Limits(file_bytes=MIB),
        control=Control(limits=Limits(file_bytes=8 * MIB)),
    ),
    "open files": Act(
        "python", "f = [open('/dev/null') for _ in range(99)]", "limit", "open_files", "inferred",
        "--limit open_files", limits=Limits(open_files=40),
        control=Control(limits=Limits(open_files=400)),
    ),
}  # fmt: skip

LOOP = """
import http.server, threading, urllib.request
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
threading.Thread(target=server.handle_request).start()
try: urllib.request.urlopen(f"http://localhost:{server.server_port}/")
except urllib.error.HTTPError as error: print(error.code)
"""
# (language, program, exit code)
BENIGN = {
    "python: nothing": ("python", "print(6 * 7)", 0),
    "python: many modules": (
        "python",
        "import asyncio, ctypes, curses, dbm, decimal, email, ftplib, getpass, locale, logging.handlers, "
        "mailbox, mmap, multiprocessing, pydoc, readline, resource, select, smtplib, sqlite3, ssl, "
        "statistics, tempfile, uuid, venv, xmlrpc.client, zoneinfo; print(uuid.uuid4())",
        0,
    ),
    "python: a server of its own": ("python", LOOP, 0),
    "python: its own name": (
        "python",
        "import socket\nprint(socket.gethostbyname(socket.gethostname()), socket.getfqdn())\n"
        "socket.getaddrinfo('127.0.0.1', 80); socket.getaddrinfo(None, 80)",
        0,
    ),
    "python: a pool of processes": (
        "python",
        "from concurrent.futures import ProcessPoolExecutor\n"
        "if __name__ == '__main__':\n    print(sum(ProcessPoolExecutor(3).map(abs, range(-9, 9))))",
        0,
    ),
    "python: asyncio, and a socket of its own": (
        "python",
        "import asyncio, os\nasync def main():\n"
        "    s = await asyncio.start_unix_server(lambda r, w: w.close(), os.environ['TMPDIR'] + '/s')\n"
        "    r, w = await asyncio.open_unix_connection(os.environ['TMPDIR'] + '/s')\n"
        "    print(await r.read()); s.close()\nasyncio.run(main())",
        0,
    ),
    "python: waiting for a server that is not up yet": (
        "python",
        "import socket, sys\nfree = socket.create_server(('127.0.0.1', 0)); at = free.getsockname(); free.close()\n"
        "for _ in range(3):\n    try: socket.create_connection(at, 1)\n    except OSError as e: last = e\n"
        "sys.exit(f'{last}')",
        1,
    ),
    "python: the log of the system": (
        "python",
        "import logging.handlers, syslog\nsyslog.syslog('x')\n"
        "try: logging.handlers.SysLogHandler('/dev/log')\nexcept OSError: print('no log')",
        0,
    ),
    "python: its own address by UDP": (
        "python",
        "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "try: s.connect(('10.255.255.255', 1))\nexcept OSError: print('127.0.0.1')",
        0,
    ),
    "python: scheduling": (
        "python",
        "import os\nos.nice(3); os.sched_setaffinity(0, os.sched_getaffinity(0)); os.setpriority(0, 0, 5)\n"
        "try: os.setpriority(0, 0, -5)\nexcept OSError: print('no')",
        0,
    ),
    "python: raises": ("python", "raise ValueError('/etc/passwd is a path')", 1),
    "python: a file that is missing": ("python", "open('no/such/file.txt')", 1),
    "python: a failing test": (
        "python",
        "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 2)\nunittest.main()",
        1,
    ),
    "python: a file that it closed itself": (
        "python", "import os\nopen('mine.txt', 'w').close(); os.chmod('mine.txt', 0); open('mine.txt')", 1,
    ),
    "python: text about refusals": (
        "python",
        "import sys; print('report: 3 hosts', file=sys.stderr); sys.exit(2)",
        2,
    ),
    "shell: tools": (
        "shell",
        "ls -la / /tmp > /dev/null; ps aux; df; id; env; uname -a; date; hostname; nproc; free; uptime; "
        "mount > /dev/null; find / -maxdepth 2 > /dev/null 2>&1; tar cf - . | tar tf -; true",
        0,
    ),
    "shell: git": (
        "shell",
        "cd $TMPDIR && git init -q r && cd r && git config user.email a@b.c && git config user.name n && "
        "echo x > f && git add f && git commit -qm m && git log --oneline && git gc -q && git worktree list",
        0,
    ),
    "shell: make": ("shell", "printf 'all:\\n\\techo built > out\\n' > Makefile && make && cat out", 0),
    "shell: nothing is found": ("shell", "grep -r nothing-of-this plain.txt", 1),
    "shell: a file that is missing": ("shell", "cat missing.txt; rm missing-too", 1),
    "shell: a command that is nowhere": ("shell", "no-such-command-anywhere", 127),
    "shell: a folder that is nowhere": ("shell", "ls /nonexistent/folder; cd /nowhere/else", 1),
    "shell: a full device": ("shell", "echo x > /dev/full", 1),
    "shell: a child that it ends": ("shell", "sleep 20 & kill -9 $!; wait $!", 137),
    "shell: a file that may not be run": ("shell", "touch x.sh; ./x.sh", 126),
    "shell: temporary files": ("shell", "f=$(mktemp); d=$(mktemp -d); echo x > $f; mv $f $d/; rm -r $d", 0),
    "javascript: modules and workers": (
        "javascript",
        "import os from 'node:os'; import { Worker } from 'node:worker_threads'; import cp from 'node:child_process';\n"
        "os.userInfo(); cp.execSync('true');\n"
        "await new Promise(done => new Worker('1', { eval: true }).on('exit', done)); console.log('ok')",
        0,
    ),
    "javascript: a server of its own": (
        "javascript",
        "import http from 'node:http'; const s = http.createServer((q, a) => a.end('hi')).listen(0, async () => {\n"
        "console.log(await (await fetch(`http://localhost:${s.address().port}/`)).text()); s.close(); });",
        0,
    ),
    "javascript: throws": ("javascript", "throw new Error('nothing of that')", 1),
    "javascript: a file that is missing": ("javascript", "import fs from 'node:fs'; fs.readFileSync('gone.json')", 1),
    "typescript": ("typescript", "const n: number = 42; console.log(n)", 0),
    "ruby": (
        "ruby",
        "require 'socket'; require 'etc'; require 'tmpdir'; require 'open3'; Etc.getpwuid; Socket.gethostname\n"
        "s = TCPServer.new('127.0.0.1', 0); c = TCPSocket.new('127.0.0.1', s.addr[1]); Dir.mktmpdir { |d| puts d }",
        0,
    ),
    "ruby: raises": ("ruby", "raise 'no'", 1),
    "perl": (
        "perl",
        "use POSIX; use Sys::Hostname; use File::Temp; use IO::Socket::INET; my $h = hostname();\n"
        "my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die $@;\n"
        "IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $s->sockport) or die $@; print getpwuid($<), \"\\n\";",
        0,
    ),
    "php": ("php", "echo gethostname(), sys_get_temp_dir(), php_uname(); touch(tempnam('/tmp', 'x'));", 0),
    "lua": ("lua", "local f = io.open('nothing'); print(f, os.getenv('HOME'), os.tmpname())", 0),
    "r": ("r", "x <- tempfile(); writeLines('a', x); print(Sys.info()[['nodename']]); print(sum(1:10))", 0),
    "go": (
        "go",
        "package main\nimport (\"fmt\"; \"net\"; \"net/http\"; \"net/http/httptest\"; \"os\"; \"os/user\")\n"
        "func main() { s := httptest.NewServer(http.NotFoundHandler()); defer s.Close()\n"
        "r, e := http.Get(s.URL); fmt.Println(r.StatusCode, e); user.Current(); net.Interfaces(); os.Hostname() }",
        0,
    ),
    "rust": (
        "rust",
        "use std::net::*; fn main() { let l = TcpListener::bind(\"127.0.0.1:0\").unwrap();\n"
        "TcpStream::connect(l.local_addr().unwrap()).unwrap(); println!(\"{:?}\", std::env::temp_dir()); }",
        0,
    ),
    "c": (
        "c",
        "#include <stdio.h>\n#include <unistd.h>\n#include <sched.h>\n#include <sys/prctl.h>\n#include <sys/resource.h>\n"
        "int main(void) { prctl(PR_SET_NAME, \"x\"); sched_yield(); struct rlimit r; getrlimit(RLIMIT_NOFILE, &r);\n"
        "char n[99]; gethostname(n, 99); puts(n); return access(\"/nothing\", R_OK) == 0; }",
        0,
    ),
    "c: does not compile": ("c", "int main(void) { return missing; }", 1),
    "cpp": ("cpp", "#include <thread>\n#include <iostream>\nint main() { std::thread([] { std::cout << 1; }).join(); }", 0),
    "java": (
        "java",
        "import java.net.*; public class Main { public static void main(String[] a) throws Exception {\n"
        "System.out.println(InetAddress.getLocalHost()); NetworkInterface.getNetworkInterfaces();\n"
        "var s = new ServerSocket(0, 1, InetAddress.getLoopbackAddress()); new Socket(s.getInetAddress(), s.getLocalPort()); } }",
        0,
    ),
    "elixir": ("elixir", "IO.inspect(:inet.gethostname()); IO.inspect(System.tmp_dir()); IO.puts(System.otp_release())", 0),
}  # fmt: skip
# Those that are also run where what they change is committed.
# What a program needs besides its language.
PROGRAMS = {"shell: make": ("make",)}
BUILT = ("shell: make", "shell: temporary files", "python: a file that it closed itself")
