<?php
// How many lines are longer than 79 bytes?
$wide = 0;
$in = fopen("corpus.txt", "rb");
while (($line = fgets($in)) !== false) {
    if (strlen(rtrim($line, "\n")) > 79) {
        $wide++;
    }
}
echo $wide, "\n";
