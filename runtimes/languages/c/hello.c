const char *word = "c";
printf("hello from %s\n", word);
