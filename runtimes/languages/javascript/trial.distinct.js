// How many different words are there?
import("node:fs").then((fs) => {
  const text = fs.readFileSync("corpus.txt", "latin1");
  console.log(new Set(text.match(/[A-Za-z_]+/g)).size);
});
