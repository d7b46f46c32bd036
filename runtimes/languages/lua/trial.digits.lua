-- How many digits are there?
local file = assert(io.open("corpus.txt", "rb"))
local _, digits = file:read("*a"):gsub("[0-9]", "")
print(digits)
