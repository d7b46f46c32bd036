package file_content;
sub import {
    my $path = $ENV{FILE_CONTENT_PATH};
    open my $file, '<:raw', $path or die "cannot read $path: $!\n";
    my $content = do { local $/; <$file> };
    $content = '' unless defined $content;
    my $decoded = $content;
    unless (utf8::decode($decoded)) {
        require Encode;
        $content = Encode::encode('UTF-8', Encode::decode('UTF-8', $content));
    }
    *main::FILE_CONTENT = \$content;
    *main::FILE_CONTENT_PATH = \$path;
}
1;
