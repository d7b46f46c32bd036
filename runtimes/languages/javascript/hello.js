console.log(["hello", "from", "javascript"].join(" "));
