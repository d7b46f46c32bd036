import { readFileSync } from "node:fs";
const path = process.env.FILE_CONTENT_PATH;
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
globalThis.FILE_CONTENT = utf8.decode(readFileSync(path));
globalThis.FILE_CONTENT_PATH = path;
