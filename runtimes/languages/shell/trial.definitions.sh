# How many lines define a Python function?
LC_ALL=C grep -acE '^[[:blank:]]*def ' corpus.txt
