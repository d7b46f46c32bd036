// Refuse an ambiguous lock of npm, pnpm, yarn or bun: packages without a digest or registry, or
// outside node_modules. Without a digest clients accept any content. If npm is the client, it
// reports itself what it would do.
//
//     NPM=PATH node javascript_lock.js FOLDER
//
// The folder is then one for a client that installs: nothing in it names another version of the
// client, which it would fetch and run.
//
// Locks that are not JSON are read line by line, as their own tools write them; another form of
// the same is refused rather than guessed at.

"use strict";
const fs = require("fs");
const path = require("path");
const { createRequire } = require("module");

const DIGEST = /^sha(?:1|256|384|512)-[A-Za-z0-9+/]+=*$/;

function refuse(text) {
  process.stderr.write(`the lock is not taken: ${text}\n`);
  process.exit(1);
}

// No part of a path of packages may be empty, "." or "..", or contain a "/" of some clients.
function checkPlace(name) {
  if (/(?:^|\/)\.{0,2}(?:\/|$)|[\\\0-\x1f]/.test(name))
    refuse(`${JSON.stringify(name.slice(0, 80))} is not a place in node_modules`);
}

// The name before a version or range; the "@" of a scope is its first character.
const nameOf = (key) => /^.[^@]*/.exec(key)?.[0] ?? "";

async function checkNpm(text) {
  const { packages } = JSON.parse(text);
  if (!packages) refuse("it is of an npm before 7: lock it anew");
  const leavesOpen = (at, entry) =>
    refuse(`${at} has no digest in the lock: ${entry.resolved ?? "a link"}`);
  for (const [at, entry] of Object.entries(packages)) {
    if (at !== "") checkPlace(at);
    if (entry.link) leavesOpen(at, entry);
  }
  const Arborist = createRequire(fs.realpathSync(process.env.NPM))("@npmcli/arborist");
  const root = await new Arborist({ path: process.argv[2] }).loadVirtual();
  const places = new Map([...root.inventory.values()].map((node) => [node.location, node]));
  for (const [at, entry] of Object.entries(packages)) {
    if (at === "") continue;
    const node = places.get(at);
    if (!node?.parent) refuse(`${at} is a folder of the project, not of a registry`);
    if (!node.integrity && !node.inDepBundle) leavesOpen(at, entry);
  }
}

// The lines below each key of the first column.
function sections(text) {
  const found = new Map();
  let lines = [];
  for (const line of text.split(/\r?\n/)) {
    if (line === "" || line.startsWith("#")) continue;
    if (line.startsWith(" ")) {
      lines.push(line);
      continue;
    }
    const key = /^(.*?):(?: .*)?$/.exec(line)?.[1];
    if (key === undefined || found.has(key)) refuse(`this line is not known: ${line.slice(0, 80)}`);
    found.set(key, (lines = []));
  }
  return found;
}

// The last document is the project's. One before it is of pnpm itself, and of its configuration.
function lastDocument(text) {
  const documents = text.split(/^---\r?\n/m);
  if (documents.slice(0, -1).some((one) => /^ *['"]?configDependencies['"]?:(?! *\{\}$)/m.test(one)))
    refuse("it has configDependencies, which can change what is installed");
  return documents.at(-1);
}

function checkPnpm(text) {
  const found = sections(lastDocument(text));
  for (const key of found.keys())
    if (!/^[A-Za-z]+$/.test(key)) refuse(`this key is not known: ${key.slice(0, 80)}`);
  if (found.has("patchedDependencies")) refuse("it has packages that are patched by the project");
  for (const line of found.get("importers") ?? [])
    if (/^ {2}\S/.test(line) && line !== "  .:")
      refuse(`${line.trim().slice(0, 80)} is a folder of the project, not of a registry`);
  for (const line of [...found.values()].flat())
    if (/(?:^|[\s/'"{,])\.\.(?:[\s/'"},:@]|$)|\\/.test(line) && !/^ {4}deprecated: /.test(line))
      refuse(`${line.trim().slice(0, 80)} names a place outside node_modules`);
  let name = "";
  let isPinned = true;
  const finish = () => isPinned || refuse(`${name} has no digest in the lock`);
  for (const line of found.get("packages") ?? []) {
    if (/^ {2}\S.*:$/.test(line)) {
      finish();
      name = line.trim().slice(0, -1);
      isPinned = false;
    } else if (/^ {4}resolution:/.test(line)) {
      const digest = /^ {4}resolution: \{integrity: ([^,}]+)(?:, tarball: [^,}]+)?\}$/.exec(line);
      if (isPinned || !digest || !DIGEST.test(digest[1]))
        refuse(`${name} has no digest in the lock: ${line.trim().slice(0, 120)}`);
      isPinned = true;
    } else if (!/^ {4}/.test(line)) {
      refuse(`this line is not known: ${line.slice(0, 80)}`);
    }
  }
  finish();
}

function checkYarn(text) {
  const found = sections(text);
  if (found.has("__metadata")) return checkBerry(found);
  for (const [name, lines] of found) {
    for (const key of name.replaceAll('"', "").split(", ")) checkPlace(nameOf(key));
    const digest = lines.map((line) => /^ {2}integrity "?([^"\s]+)/.exec(line)?.[1]).find(Boolean);
    const from = lines.find((line) => line.startsWith("  resolved "))?.slice(11);
    if (!digest || !DIGEST.test(digest) || !/^"?https?:\/\//.test(from ?? ""))
      refuse(`${name.slice(0, 80)} has no digest in the lock: ${(from ?? "").slice(0, 120)}`);
  }
}

// Packages for other platforms, by their `conditions`, have no digest in locks of yarn 2 and later.
function checkBerry(found) {
  for (const [name, lines] of found) {
    if (name === "__metadata") continue;
    const of = (key) => lines.find((line) => line.startsWith(`  ${key}: `))?.slice(key.length + 4);
    const from = (of("resolution") ?? "").replace(/^"|"$/g, "");
    if (/^[^:]+@workspace:\.$/.test(from)) continue;
    if (!/^(?:@[^@:]+\/)?[^@:]+@npm:[0-9][^:@]*$/.test(from))
      refuse(`${name.slice(0, 80)} is of no registry: ${from.slice(0, 120)}`);
    for (const key of [from, ...name.replaceAll('"', "").split(", ")]) checkPlace(nameOf(key));
    if (!/^(?:[0-9a-z]+\/)?[0-9a-f]{128}$/.test(of("checksum") ?? "") && !of("conditions"))
      refuse(`${name.slice(0, 80)} has no digest in the lock`);
  }
}

function checkBun(text) {
  // JSON with commas after the last of a list.
  const plain = text.replace(/"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/g, (it) => (it === "," ? "" : it));
  const { workspaces, packages } = JSON.parse(plain);
  for (const folder of Object.keys(workspaces))
    if (folder !== "") refuse(`${folder} is a folder of the project, not of a registry`);
  for (const [name, [id, , , digest]] of Object.entries(packages ?? {})) {
    checkPlace(name);
    checkPlace(nameOf(id));
    if (!/.@[0-9][^@:/]*$/.test(id) || !DIGEST.test(digest ?? ""))
      refuse(`${name} has no digest in the lock: ${String(id).slice(0, 120)}`);
  }
}

const CHECKS = {
  "npm-shrinkwrap.json": checkNpm,
  "package-lock.json": checkNpm,
  "pnpm-lock.yaml": checkPnpm,
  "yarn.lock": checkYarn,
  "bun.lock": checkBun,
};

async function checkLocks() {
  for (const [name, check] of Object.entries(CHECKS)) {
    const file = path.join(process.argv[2], name);
    if (!fs.existsSync(file)) continue;
    try {
      const text = fs.readFileSync(file, "utf8");
      await check(text);
      if (name === "pnpm-lock.yaml") fs.writeFileSync(file, lastDocument(text));
    } catch (error) {
      refuse(`it is damaged, or of another form: ${error.message}`);
    }
  }
}

function forgetClients() {
  const manifest = path.join(process.argv[2], "package.json");
  if (!fs.existsSync(manifest)) return;
  try {
    const { packageManager, devEngines, ...rest } = JSON.parse(fs.readFileSync(manifest, "utf8"));
    if (packageManager || devEngines) fs.writeFileSync(manifest, JSON.stringify(rest));
  } catch (error) {
    refuse(`package.json is damaged: ${error.message}`);
  }
}

checkLocks().then(forgetClients);
