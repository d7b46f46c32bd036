use strict; use warnings;
my $word = "perl";
print "hello from $word\n";
