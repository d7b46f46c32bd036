const words: ReadonlyArray<string> = ["hello", "from", "typescript"];
console.log(words.join(" "));
