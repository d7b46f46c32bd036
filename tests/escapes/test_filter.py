"""The sandbox stops attacks, not programs: every language compiles, imports and runs threads in it.

That each runs its hello is tests/executor/test_languages.py's.
"""

# ruff: noqa: E501 - programs in other languages keep their lines

from __future__ import annotations

import pytest

import runtimes
from executor import Limits, Status
from tests.escapes.arena import Arena
from tests.escapes.attack import Program
from tests.needs import need

# A package of the standard library or the toolchain's own, imported, and four threads (or what
# the language has in their place) that each do a quarter of a sum.
WORK = {
    "python": """
import json, threading, sqlite3, ssl, hashlib, multiprocessing.pool
total = []
threads = [threading.Thread(target=lambda n=n: total.append(sum(range(n * 250, n * 250 + 250))))
           for n in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(json.dumps(sum(total)))
""",
    "javascript": """
const { Worker } = await import('node:worker_threads'); const crypto = await import('node:crypto');
const code = `const { parentPort, workerData: n } = require('node:worker_threads');
let s = 0; for (let i = n * 250; i < n * 250 + 250; i++) s += i; parentPort.postMessage(s)`;
const parts = [0, 1, 2, 3].map(n => new Promise((done, fail) => {
    const w = new Worker(code, { eval: true, workerData: n });
    w.on('message', done); w.on('error', fail); }));
crypto.createHash('sha256').update('x').digest('hex');
console.log((await Promise.all(parts)).reduce((a, b) => a + b));
""",
    "typescript": """
import * as os from 'node:os'; import * as zlib from 'node:zlib';
const sums: Promise<number>[] = [0, 1, 2, 3].map(async (n: number): Promise<number> => {
    let s = 0; for (let i = n * 250; i < n * 250 + 250; i++) s += i; return s; });
zlib.gzipSync(os.platform());
Promise.all(sums).then((all: number[]) => console.log(all.reduce((a, b) => a + b)));
""",
    "shell": """
for n in 0 1 2 3; do ( s=0; i=$((n * 250)); while [ $i -lt $((n * 250 + 250)) ]; do s=$((s + i)); i=$((i + 1)); done
echo $s ) & done | awk '{ t += $1 } END { print t }'
""",
    "ruby": """
require 'json'; require 'digest'; require 'set'
puts JSON.generate((0..3).map { |n| Thread.new { (n * 250...n * 250 + 250).sum } }.map(&:value).sum)
""",
    "go": """
package main
import ("encoding/json"; "fmt"; "sync"; "runtime")
func main() {
    runtime.GOMAXPROCS(4); var wg sync.WaitGroup; sums := make([]int, 4)
    for n := 0; n < 4; n++ { wg.Add(1); go func(n int) { defer wg.Done(); runtime.LockOSThread()
        for i := n * 250; i < n*250+250; i++ { sums[n] += i } }(n) }
    wg.Wait(); out, _ := json.Marshal(sums[0] + sums[1] + sums[2] + sums[3]); fmt.Println(string(out))
}
""",
    "rust": """
use std::collections::BTreeMap; use std::thread;
fn main() {
    let handles: Vec<_> = (0..4u64).map(|n| thread::spawn(move || (n * 250..n * 250 + 250).sum::<u64>())).collect();
    let mut m = BTreeMap::new(); for h in handles { *m.entry("sum").or_insert(0) += h.join().unwrap(); }
    println!("{}", m["sum"]);
}
""",
    "php": """
$pipes = []; foreach (range(0, 3) as $n) { $pipes[] = popen(PHP_BINARY . ' -r ' .
    escapeshellarg("echo array_sum(range($n * 250, $n * 250 + 249));"), 'r'); }
$t = 0; foreach ($pipes as $p) { $t += (int) stream_get_contents($p); pclose($p); }
echo json_encode($t), "\\n"; hash('sha256', 'x');
""",
    "perl": """
use List::Util qw(sum); use POSIX; use Digest::SHA;
my $t = 0; for my $n (0 .. 3) { open(my $p, "-|") // die $!
    or do { print sum($n * 250 .. $n * 250 + 249); POSIX::_exit(0) if close(STDOUT) }; $t += <$p>; }
print "$t\\n";
""",
    "r": """
library(parallel); library(stats); library(utils)
parts <- mclapply(0:3, function(n) sum((n * 250):(n * 250 + 249)), mc.cores = 4)
cat(sum(unlist(parts)), "\\n", sep = "")
""",
    "elixir": """
:crypto.hash(:sha256, "x")
0..3 |> Enum.map(fn n -> Task.async(fn -> Enum.sum(n * 250..n * 250 + 249) end) end)
|> Enum.map(&Task.await/1) |> Enum.sum() |> IO.puts()
""",
    "csharp": """
using System.Linq; using System.Threading.Tasks; using System.Collections.Generic;
public class Program { public static void Main() {
    var parts = Enumerable.Range(0, 4).Select(n => Task.Run(() => Enumerable.Range(n * 250, 250).Sum())).ToArray();
    Task.WaitAll(parts); System.Console.WriteLine(parts.Sum(p => p.Result)); } }
""",
    "java": """
import java.util.concurrent.*; import java.util.stream.*;
public class Main { public static void main(String[] a) throws Exception {
    var pool = Executors.newFixedThreadPool(4); int t = 0;
    for (var f : pool.invokeAll(IntStream.range(0, 4).mapToObj(n -> (Callable<Integer>) () ->
        IntStream.range(n * 250, n * 250 + 250).sum()).collect(Collectors.toList()))) t += f.get();
    pool.shutdown(); System.out.println(t); } }
""",
    "c": """
#include <math.h>
#include <pthread.h>
#include <stdio.h>
static long sums[4];
static void *part(void *at) { long n = (long)at; for (long i = n * 250; i < n * 250 + 250; i++) sums[n] += i; return 0; }
int main(void) { pthread_t t[4]; for (long n = 0; n < 4; n++) pthread_create(&t[n], 0, part, (void *)n);
    for (int n = 0; n < 4; n++) pthread_join(t[n], 0);
    printf("%ld\\n", sums[0] + sums[1] + sums[2] + sums[3]); return 0; }
""",
    "cpp": """
#include <future>
#include <iostream>
#include <numeric>
#include <vector>
int main() { std::vector<std::future<long>> parts; for (long n = 0; n < 4; n++)
    parts.push_back(std::async(std::launch::async, [n] { std::vector<long> v(250); std::iota(v.begin(), v.end(), n * 250);
        return std::accumulate(v.begin(), v.end(), 0L); }));
    long t = 0; for (auto &p : parts) t += p.get(); std::cout << t << std::endl; }
""",
    "lua": """
local t, parts = 0, {}
for n = 0, 3 do parts[#parts + 1] = coroutine.wrap(function() local s = 0
    for i = n * 250, n * 250 + 249 do s = s + i; if i % 50 == 0 then coroutine.yield() end end
    return s end) end
for _, part in ipairs(parts) do local s repeat s = part() until s; t = t + s end
local f = assert(io.popen("printf ok")); assert(f:read("*a") == "ok"); f:close()
print(string.format("%d", t))
""",
}  # fmt: skip
SUM = "499500"
INTERFACES = {
    "python": "import socket; print(socket.if_nameindex()[0][1])",
    "javascript": "import os from 'node:os'; console.log(Object.keys(os.networkInterfaces())[0])",
    "go": """
package main
import ("fmt"; "net")
func main() { found, err := net.Interfaces(); if err != nil { panic(err) }; fmt.Println(found[0].Name) }
""",
}


def test_every_language_is_tried():
    assert sorted(WORK) == sorted(row.name for row in runtimes.LANGUAGES)


@pytest.mark.parametrize("language", sorted(WORK))
async def test_packages_and_threads_work_in_the_sandbox(language, arena: Arena):
    need(language)
    result = await arena.run(Program(language, WORK[language]), limits=Limits(wall_s=60))
    assert (result.status, result.stdout.text.strip()) == (Status.OK, SUM), (
        result.stderr.text or result.message
    )


@pytest.mark.tier_a
@pytest.mark.parametrize("language", INTERFACES)
async def test_programs_are_told_of_the_sandbox_own_interfaces(language, arena: Arena):
    need(language)
    result = await arena.run(Program(language, INTERFACES[language]), limits=Limits(wall_s=60))
    assert (result.status, result.stdout.text.strip()) == (Status.OK, "lo"), result.stderr.text


LOOKUPS = """
import socket
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    for name in ("localhost", address):
        found = socket.getaddrinfo(name, 80, family, flags=socket.AI_ADDRCONFIG)
        assert found[0][4][0] == address, found
print("found")
"""


@pytest.mark.tier_a  # in tier B there are no sockets
async def test_the_sandbox_own_host_is_found_in_each_family(arena: Arena):
    need("python")
    result = await arena.run(Program("python", LOOKUPS))
    assert result.stdout.text == "found\n", result.stderr.text
