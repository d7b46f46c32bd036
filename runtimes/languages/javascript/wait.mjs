// A started node waits for its program. Placed as the prelude, and does its work. The modules for
// loading a program of that name, now an empty line, and for printing are loaded before the
// wait, and garbage is collected.
import { Console } from "node:console";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import "node:net";
import { Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const program = process.argv[1];
await import(`${pathToFileURL(program)}?prewarm`);
delete createRequire(import.meta.url).cache[program];
const nowhere = new Writable({ write: (chunk, encoding, done) => done() });
new Console({ stdout: nowhere, colorMode: false }).log([""].join(" "));

setFlagsFromString("--expose-gc"); // to contexts that are made now: the program has no `gc`
runInNewContext("globalThis.gc?.()");
setFlagsFromString("--no-expose-gc");

readFileSync(new URL("./.prewarm/gate", import.meta.url));
globalThis.require ??= createRequire(`${process.cwd()}/`);
