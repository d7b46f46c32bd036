# Perl interpreter for a user: runs one program after the other in package main, and shows
# the values of expressions. Top-level `my` declarations have become the package's.
#
# A request comes on descriptor 3: a line with a token and the sizes of the fields after it
# (folder, bound file, name, code, arguments). The answer goes to descriptor 4: the token and an
# exit code. SIGINT ends only the program.
package CtxmodeDriver;
use strict;
use warnings;

my ($requests, $answers, $on_interrupt);

sub serve {
    open $requests, '<&=:raw', 3 or die "descriptor 3: $!\n";
    open $answers, '>&=:raw', 4 or die "descriptor 4: $!\n";
    $_->autoflush for $answers, *STDOUT{IO};
    $on_interrupt = sub { die "interrupted\n" };
    $SIG{INT} = 'IGNORE';
    while ((my $header = line()) ne '') {
        my ($token, @sizes) = split ' ', $header;
        my @fields = map { octets($_) } @sizes;
        my $status = run(@fields);
        print $answers "$token $status\n";
    }
}

# Not by readline, whose place messages would show.
sub line {
    my ($line, $octet) = ('', '');
    while (sysread($requests, $octet, 1) && $octet ne "\n") { $line .= $octet }
    return $line;
}

sub octets {
    my ($size) = @_;
    my $field = '';
    while ($size > length $field) {
        sysread($requests, $field, $size - length $field, length $field) or exit;
    }
    return $field;
}

sub run {
    my ($folder, $bound, $name, $code, @arguments) = @_;
    if ($folder ne '') { chdir $folder or warn "$folder: $!\n" }
    bind_file($bound) if $bound ne '';
    $0 = $name;
    @main::ARGV = @arguments;
    my @values = eval {
        local $SIG{INT} = $on_interrupt;
        my @found = main_eval("#line 1 \"$name\"\n$code");
        die $@ if $@;
        $on_interrupt = $SIG{INT};
        show($code, @found);
    };
    return 0 if !$@;
    print STDERR $@;
    return $@ eq "interrupted\n" ? 130 : 1;
}

sub show {
    my ($code, @values) = @_;
    return if !@values || (@values == 1 && !defined $values[0]);
    return if $code =~ /^\s*(?:print|printf|say|use|no|our|my|sub|package|require)\b/;
    require Data::Dumper;
    no warnings 'once';
    local ($Data::Dumper::Terse, $Data::Dumper::Indent) = (1, 1);
    local ($Data::Dumper::Sortkeys, $Data::Dumper::Useqq) = (1, 1);
    print Data::Dumper::Dumper($_) for @values;
}

sub bind_file {
    my ($path) = @_;
    open my $file, '<:raw', $path or return warn "$path: $!\n";
    local $/;
    no warnings 'once';
    ($main::FILE_CONTENT, $main::FILE_CONTENT_PATH) = (scalar <$file>, $path);
}

package main;
no strict;
no warnings;
use IO::Handle;

sub CtxmodeDriver::main_eval { eval $_[0] }

CtxmodeDriver::serve();
