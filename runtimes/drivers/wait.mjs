// Lets a node that has started wait for its program. Placed as the prelude, and does its work.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
readFileSync(new URL("./.ahead/gate", import.meta.url));
globalThis.require ??= createRequire(`${process.cwd()}/`);
