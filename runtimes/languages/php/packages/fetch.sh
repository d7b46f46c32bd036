cat > "$TMPDIR/fetch.php" <<'END'
<?php
require __DIR__ . '/shared.php';
function check_names($package, $content) {
    $end = strrpos($content, "PK\5\6");
    if ($end === false) fail("not a zip archive: $package");
    $at = unpack('V', $content, $end + 16)[1];
    while (substr($content, $at, 4) === "PK\1\2") {
        [, $name, $extra, $comment] = unpack('v3', $content, $at + 28);
        $path = substr($content, $at + 46, $name);
        if (preg_match('#^[/\\\\]|(^|[/\\\\])\.\.([/\\\\]|$)#', $path)) {
            fail("a name that leads out of its folder: $package: $path");
        }
        $at += 46 + $name + $extra + $comment;
    }
}
$out = getenv('OUT');
$lock = read_lock(getenv('IN') . '/composer.lock');
mkdir("$out/fetched");
foreach ($lock['packages'] as $place => &$one) {
    if (!isset($one['dist'])) continue;
    $type = $one['dist']['type'];
    $content = get_file($one['dist']['url']);
    $digest = $one['dist']['sha256'] ?? fail("the lock holds no digest of {$one['name']}");
    if (!hash_equals($digest, check_sum($one, $content))) fail("digest mismatch: {$one['name']}");
    if ($type === 'zip') check_names($one['name'], $content);
    file_put_contents("$out/fetched/$place.$type", $content);
    $one['dist']['url'] = getenv('AT') . "/fetched/$place.$type";
}
write_json("$out/composer.lock", $lock);
// A package that nothing requires would not be loaded.
$require = array_fill_keys(array_column($lock['packages'], 'name'), '*');
write_json("$out/composer.json", ['require' => (object) $require]);
END
"$PHP" "$TMPDIR/fetch.php"
