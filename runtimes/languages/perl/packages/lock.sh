mkdir "$TMPDIR/work"; cd "$TMPDIR/work"
cat > lock.pl <<'END'
use strict; use warnings;
use Config; use CPAN::Meta; use CPAN::Meta::Requirements; use Digest::SHA; use Module::Metadata;
sub fail { print STDERR "@_\n"; exit 1 }
sub said { open my $pipe, '-|', @_ or return ''; local $/; my $text = <$pipe>; $text // '' }
sub get {
    my ($path, $to) = @_;
    system('sh', '../get', "$ENV{REGISTRY}/$path", $to) == 0 or fail("not downloaded: $path");
}

my @own = (@Config{qw(archlibexp privlibexp)}, grep { /perl-base$/ } @INC);
sub is_own {  # what comes with this perl
    my ($module, $needs) = @_;
    return $needs->accepts_module(perl => $]) || fail("no fitting version: perl is $]")
        if $module eq 'perl';
    my $found = Module::Metadata->new_from_module($module, inc => \@own) or return 0;
    return $needs->accepts_module($module => $found->version // 0);
}
sub needs_of {  # by what the archive says of itself, which may be nothing
    my ($file) = @_;
    my ($list, @show) = $file =~ /\.zip$/ ? (['unzip', '-Z1', $file], 'unzip', '-p', $file)
        : (['tar', '-tf', $file], 'tar', '-xOf', $file, '--');
    my $needs = CPAN::Meta::Requirements->new;
    my @names = split /\n/, said(@$list);
    fail("an archive is damaged: $file") unless @names;
    for my $name (map { my $kind = $_; grep { m{^\w[^/]*/META\.$kind$} } @names } qw(json yml)) {
        my $meta = eval { CPAN::Meta->load_string(said(@show, $name)) } or next;
        my $all = $meta->effective_prereqs;
        $needs->add_requirements($all->requirements_for($_, 'requires'))
            for qw(configure build runtime);
        last;
    }
    return $needs;
}

my (%chosen, @order, %is_put);
sub download {
    my ($path) = @_;
    fail("a name that leads out of its folder: $path")
        unless $path =~ m{^[A-Z]/[A-Z0-9-]{2}/[A-Z0-9-]+(?:/[A-Za-z0-9_][A-Za-z0-9._+-]*)+$};
    my ($file) = $path =~ m{([^/]+)$};
    get("authors/id/$path", $file);
    return { needs => needs_of($file), digest => Digest::SHA->new(256)->addfile($file)->hexdigest };
}
sub put {  # what others need comes before them
    my ($path, $provider) = @_;
    return if $is_put{$path}++;
    for my $module (sort $chosen{$path}{needs}->required_modules) {
        put($provider->{$module}, $provider) if $chosen{$provider->{$module} // ''};
    }
    push @order, "$path $chosen{$path}{digest}\n";
}
sub read_index {
    get('modules/02packages.details.txt.gz', 'index.gz');
    my (%path, %version);
    for (split /\n/, said('gzip', '-dc', 'index.gz') =~ s/^.*?\n\n//sr) {
        my ($module, $version, $path) = split;
        ($path{$module}, $version{$module}) = ($path, $version) if defined $path;
    }
    return (\%path, \%version);
}
sub resolve {
    my ($needs) = @_;
    my ($path, $version) = read_index();
    my @left = ($needs);
    while (my $some = shift @left) {
        for my $module (sort $some->required_modules) {
            next if is_own($module, $some);
            my $at = $path->{$module} // fail("no such module: $module");
            my $fits = $version->{$module} eq 'undef'
                || $some->accepts_module($module => $version->{$module});
            fail("no fitting version: $module is $version->{$module}") unless $fits;
            fail("no fitting version: $module comes with another perl") if $at =~ m{/perl-?5[^/]*$};
            next if $chosen{$at};
            $chosen{$at} = download($at);
            push @left, $chosen{$at}{needs};
        }
    }
    put($_, $path) for sort keys %chosen;
}
sub take {  # a snapshot as it is
    my ($path, $part, %provider);
    for (split /\n/, $_[0]) {
        $part = $1 if /^    (\w+):/;
        if (/^    pathname: (\S+)/) { $path = $1; $chosen{$path} = download($path) }
        $provider{$1} = $path if $path && $part eq 'provides' && /^      ([\w:]+) /;
    }
    put($_, \%provider) for sort keys %chosen;
}

my $wanted = said('cat', "$ENV{IN}/wanted");
if ($wanted =~ /^DISTRIBUTIONS$/m) {
    take($wanted);
} else {
    my $needs = CPAN::Meta::Requirements->new;
    for (grep { length } split /\n/, $wanted) {
        my ($module, $how, $version) = /^([\w:]+)(?:([~\@])(.*))?$/ or fail("not understood: $_");
        my $range = defined $how && $how eq '@' ? "== $version" : $version // 0;
        eval { $needs->add_string_requirement($module, $range); 1 } or fail("not understood: $_");
    }
    resolve($needs);
}
open my $out, '>', "$ENV{OUT}/cpan.lock" or die "$!";
print $out @order;
END
"$PERL" lock.pl
