// JavaScript engine for a session: evaluates one program after the other in its global
// scope. The program has been rewritten so that its top-level names are properties of globalThis
// and that it is the body of one asynchronous function.
//
// A request comes on descriptor 3: a line with a token and the sizes of the fields after it
// (folder, bound file, name, code, arguments). The answer goes to descriptor 4: the token and an
// exit code. A call ends as a program does, when nothing is left to wait for. Started as
// "interactive", it shows each program's value, and SIGINT ends only the program.
const fs = require("node:fs");

// Reopened, so that they are closed in children, and read without waiting for a loop.
const requests = fs.openSync("/proc/self/fd/3", "r");
const answers = fs.openSync("/proc/self/fd/4", "w");
const { process, Buffer, TextDecoder, console, clearTimeout } = globalThis;
const interactive = process.argv[2] === "interactive";
const evaluate = interactive ? evaluator() : globalThis.eval;
const timers = new Set(); // of the program that runs, if it is a person's
let running = false;
let token = null;
let failed = false;
let settled = false;

function read(size) {
  const bytes = Buffer.alloc(size);
  let filled = 0;
  while (filled < size) {
    const count = fs.readSync(requests, bytes, filled, size - filled, null);
    if (count === 0) process.exit(0); // the server is gone
    filled += count;
  }
  return bytes;
}

function header() {
  let line = "";
  for (let next = read(1)[0]; next !== 10; next = read(1)[0]) line += String.fromCharCode(next);
  return line.split(" ");
}

function fail(error) {
  console.error(interactive ? ofTheProgram(error) : error);
  failed = true;
}

// The error for the user: without the frames of this file and those between them.
function ofTheProgram(error) {
  if (typeof error?.stack !== "string") return error;
  const lines = error.stack.split("\n");
  const own = lines.findIndex((line) => /\(?(node:vm|node:internal)\b/.test(line));
  return (own < 0 ? lines : lines.slice(0, own)).join("\n");
}

function bind(path) {
  const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
  globalThis.FILE_CONTENT = utf8.decode(fs.readFileSync(path));
  globalThis.FILE_CONTENT_PATH = path;
}

// Called whenever nothing is left to wait for. An unhandled rejection may be reported only
// after that, so the call ends at the second time.
function next() {
  if (!settled) {
    settled = true;
    setImmediate(() => {});
    return;
  }
  if (token !== null) {
    running = false;
    timers.clear();
    const status = Number(process.exitCode ?? 0);
    fs.writeSync(answers, `${token} ${failed && status === 0 ? 1 : status & 0xff}\n`);
  }
  const [name, ...sizes] = header();
  const fields = sizes.map((size) => read(Number(size)).toString("utf8"));
  token = name;
  failed = settled = false;
  process.exitCode = 0;
  setImmediate(run, ...fields);
}

function run(folder, bound, name, code, ...args) {
  try {
    if (folder) process.chdir(folder);
    if (bound) bind(bound);
    process.argv.splice(1, process.argv.length, name, ...args);
    globalThis.__filename = name;
    running = true;
    const now = token;
    const shown = (result) => interactive && now === token && show(result);
    evaluate(`${code}\n//# sourceURL=${name}`).then(shown).catch(fail);
  } catch (error) {
    if (error?.code === "ERR_SCRIPT_EXECUTION_INTERRUPTED") interrupted();
    else fail(String(error)); // a syntax error, whose place in this file tells nothing
  }
}

// Of these engines only node can be interrupted during a computation.
function evaluator() {
  const { node, bun, deno } = process.versions;
  if (!node || bun || deno) return globalThis.eval;
  const vm = require("node:vm");
  const loader = "USE_MAIN_CONTEXT_DEFAULT_LOADER";
  const importModuleDynamically = vm.constants?.[loader];
  if (!importModuleDynamically) {
    // Before Node 20.12 only code in `eval` can import, and no signal breaks that.
    const run = (code) => vm.runInThisContext(code, { breakOnSigint: true });
    return (code) => (/\bimport\s*\(/.test(code) ? globalThis.eval : run)(code);
  }
  const options = { breakOnSigint: true, importModuleDynamically };
  const { emitWarning } = process; // some versions warn of it once
  process.emitWarning = (...said) => {
    if (!String(said[0]).includes(loader)) emitWarning.apply(process, said);
  };
  return (code) => vm.runInThisContext(code, options);
}

function show(result) {
  if (result && result.value !== undefined) console.log(require("node:util").inspect(result.value));
}

// Drop everything that the program waits for, so that its call ends.
function interrupted() {
  if (!running) return;
  running = false;
  for (const timer of timers) clearTimeout(timer);
  timers.clear();
  for (const handle of process._getActiveHandles?.() ?? []) handle.unref?.();
  process.exitCode = 130;
}

function remember(name) {
  const own = globalThis[name];
  const made = (...args) => {
    const timer = own(...args);
    timers.add(timer);
    return timer;
  };
  globalThis[name] = Object.defineProperties(made, Object.getOwnPropertyDescriptors(own));
}

if (interactive) {
  ["setTimeout", "setInterval"].forEach(remember);
  process.on("SIGINT", interrupted);
}
globalThis.require ??= require;
globalThis.module ??= typeof module === "object" ? module : { exports: {} };
globalThis.exports ??= globalThis.module.exports;
globalThis.require.main = globalThis.module; // `require.main === module` is how programs start
process.on("uncaughtException", fail);
process.on("unhandledRejection", fail);
process.on("beforeExit", next);
