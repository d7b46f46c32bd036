# A started Perl waits for its program. Used when the program's file has been opened but not
# read. Modules that most programs use first are compiled by then; a program that starts
# otherwise finds no trace of them.
my (%known, %traces);

BEGIN {
    %known = map { $_ => 1 } keys %main::;
    delete $known{"\rAX_NESTED_EVAL_BEGIN_BLOCKS"};  # newer releases make it at every BEGIN
    for my $module ('strict', 'warnings') {
        require "$module.pm";
        $traces{$module} = [grep { !$known{$_} } keys %main::];
    }
    $traces{warnings} = [grep { $_ ne 'strict::' } @{$traces{warnings}}];
}
{
    my ($here) = __FILE__ =~ m{(.*)/};
    require Config;
    my $config = \%{'Config::Config'};
    my ($version, $machine) = @$config{'version', 'archname'};
    my @inside = ("$version/$machine", $version, $machine, split ' ', $config->{inc_version_list});

    open my $gate, '<', "$here/gate" or die "cannot wait: $!\n";
    my $message = do { local $/; <$gate> };
    close $gate;
    for (split /\n/, $message) {
        my ($name, $value) = split /=/, $_, 2;
        $ENV{$name} = $value;
    }
    my @own = grep { length } split /:/, $ENV{PERL5LIB};
    my @found = map { my $folder = $_; (grep { -d } map { "$folder/$_" } @inside), $folder } @own;
    @INC = map { $_ eq $here ? @found : $_ } @INC;

    # Only the first text is sure to be a statement, and not part of another.
    open my $file, '<:raw', $0 or die "cannot read $0: $!\n";
    read $file, my $program, 4096;
    close $file;
    # For another interpreter Perl passes on its own arguments.
    if ($program =~ /^#!(?!.*perl)/) {
        open my $self, '<', '/proc/self/cmdline' or die "cannot start anew: $!\n";
        exec { $^X } grep { $_ ne '-mprewarm' } map { split /\0/ } <$self>;
    }
    my $statement = qr/\G(?:\s+|#.*\n)*use\s+(strict|warnings)(?:\s+(?:'\w+'|qw\([\w\s]*\)))?\s*;/;
    my %used;
    $used{$1} = 1 while $program =~ /$statement/g;
    for my $module ('strict', 'warnings') {
        next if !$used{$module} or grep { -e "$_/$module.pm" or -e "$_/$module.pmc" } @found;
        @known{@{delete $traces{$module}}} = ();
    }
    delete @INC{'Config.pm', map { "$_.pm" } keys %traces};
    delete @INC{grep { $INC{$_} eq __FILE__ } keys %INC};
    delete $main::{BEGIN};  # which calls what runs here __ANON__
    delete @main::{grep { !exists $known{$_} } keys %main::};
    ($^T, $!) = (time, 0);
}
1;
