# What do the numbers add up to, each modulo 1000?
use strict;
use warnings;
open(my $in, '<:raw', 'corpus.txt') or die "corpus.txt: $!";
my $sum = 0;
while (my $line = <$in>) {
    while ($line =~ /([0-9]+)/g) {
        $sum += substr($1, -3) + 0 if length($1) >= 3;
        $sum += $1 if length($1) < 3;
    }
}
print "$sum\n";
