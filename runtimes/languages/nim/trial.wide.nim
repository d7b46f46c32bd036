# How many lines are longer than 79 bytes?
var wide = 0
for line in lines("corpus.txt"):
  if line.len > 79:
    inc wide
echo wide
