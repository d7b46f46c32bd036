# How many words are there?
puts File.binread("corpus.txt").scan(/[A-Za-z_]+/n).size
