// How many bytes has the longest line?
import * as fs from "node:fs";

const content: Uint8Array = fs.readFileSync("corpus.txt");
let longest: number = 0;
let start: number = 0;
for (let at: number = content.indexOf(10); at !== -1; at = content.indexOf(10, start)) {
  longest = Math.max(longest, at - start);
  start = at + 1;
}
console.log(longest);
