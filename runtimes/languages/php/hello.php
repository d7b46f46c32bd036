$word = "php";
echo "hello from $word\n";
