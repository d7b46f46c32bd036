word=shell
echo "hello from $word"
