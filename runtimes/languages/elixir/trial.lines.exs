# How many lines are there?
content = File.read!("corpus.txt")
IO.puts(length(:binary.matches(content, "\n")))
