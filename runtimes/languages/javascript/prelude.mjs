import { createRequire } from "node:module";
globalThis.require ??= createRequire(`${process.cwd()}/`);
