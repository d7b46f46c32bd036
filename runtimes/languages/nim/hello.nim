let word = "nim"
echo "hello from ", word
