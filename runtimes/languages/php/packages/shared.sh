cat > "$TMPDIR/shared.php" <<'END'
<?php
function fail($why) { fwrite(STDERR, "$why\n"); exit(1); }
function get_file($url) {
    $how = ['timeout' => 60, 'user_agent' => 'Composer', 'ignore_errors' => false];
    if (str_starts_with($url, 'https:') && ($proxy = getenv('https_proxy'))) {
        $how['proxy'] = preg_replace('#^http:#', 'tcp:', $proxy);
    }
    $content = file_get_contents($url, false, stream_context_create(['http' => $how]));
    return $content === false ? fail("not downloaded: $url") : $content;
}
function read_lock($path) {
    $lock = json_decode(file_get_contents($path), true);
    if (!is_array($lock) || !is_array($lock['packages'] ?? null)) fail('the lock is damaged');
    $lock['packages-dev'] = [];
    foreach ($lock['packages'] as &$one) {
        unset($one['source'], $one['notification-url'], $one['dist']['mirrors']);
        if (($one['type'] ?? '') === 'metapackage') continue;
        $dist = $one['dist'] ?? [];
        $is_file = in_array($dist['type'] ?? '', ['zip', 'tar', 'gzip', 'xz'], true);
        if (!$is_file || !preg_match('#^https?://#', $dist['url'] ?? '')) {
            fail("the lock holds a package that comes from no registry: {$one['name']}");
        }
    }
    return $lock;
}
function check_sum($one, $content) {
    $given = $one['dist']['shasum'] ?? '';
    if ($given !== '' && !hash_equals($given, sha1($content))) {
        fail("digest mismatch: {$one['name']}");
    }
    return hash('sha256', $content);
}
function write_json($path, $what) {
    $how = JSON_PRETTY_PRINT | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE;
    file_put_contents($path, json_encode($what, $how | JSON_THROW_ON_ERROR) . "\n");
}
END
