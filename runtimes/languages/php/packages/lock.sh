mkdir "$TMPDIR/work"; cd "$TMPDIR/work"
cat > ../ask.php <<'END'
<?php
require __DIR__ . '/shared.php';
$wanted = file_get_contents(getenv('IN') . '/wanted');
if (str_starts_with(ltrim($wanted), '{')) {
    file_put_contents('composer.lock', $wanted);
    exit(0);
}
$require = [];
foreach (preg_split('/\n/', $wanted, -1, PREG_SPLIT_NO_EMPTY) as $line) {
    [$name, $version] = explode(':', $line, 2) + [1 => '*'];
    $require[strtolower($name)] = $version;
}
write_json('composer.json', [
    'require' => (object) $require,
    'repositories' => [
        ['type' => 'composer', 'url' => getenv('REGISTRY')], ['packagist.org' => false],
    ],
    'config' => ['secure-http' => str_starts_with(getenv('REGISTRY'), 'https:')],
]);
END
cat > ../pin.php <<'END'
<?php
require __DIR__ . '/shared.php';
$lock = read_lock('composer.lock');
foreach ($lock['packages'] as &$one) {
    if (isset($one['dist'])) {
        $one['dist']['sha256'] = check_sum($one, get_file($one['dist']['url']));
    }
}
write_json(getenv('OUT') . '/composer.lock', $lock);
END
"$PHP" ../ask.php
if [ ! -f composer.lock ]; then composer update --no-install; fi
"$PHP" ../pin.php
