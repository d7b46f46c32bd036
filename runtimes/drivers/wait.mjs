// Lets a node that has started wait for its program. Placed as the prelude, and does its work. What
// it takes to load a program of that name, which is an empty line by now, and to print is loaded
// before the wait.
import { Console } from "node:console";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import "node:net";
import { Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const program = process.argv[1];
await import(`${pathToFileURL(program)}?ahead`);
delete createRequire(import.meta.url).cache[program];
const nowhere = new Writable({ write: (chunk, encoding, done) => done() });
new Console({ stdout: nowhere, colorMode: false }).log([""].join(" "));

readFileSync(new URL("./.ahead/gate", import.meta.url));
globalThis.require ??= createRequire(`${process.cwd()}/`);
