# How often does the commonest word occur?
import re
import sys
from collections import Counter
from pathlib import Path

words = re.findall(rb"[A-Za-z_]+", Path("corpus.txt").read_bytes())
sys.stdout.write(f"{Counter(words).most_common(1)[0][1]}\n")
