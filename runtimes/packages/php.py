"""PHP: composer locks; what it names is pinned, downloaded by digest, and unpacked offline.

Composer's plugins and scripts never run. A distribution's own composer lies in parts below /usr.
"""

from __future__ import annotations

from runtimes.packages.tools import COMPOSER, Ecosystem

_COMPOSER = """\
at="$COMPOSER"; unset COMPOSER  # which to composer is the name of a manifest
if [ -f /usr/share/php/Composer/autoload.php ]; then at=/usr/bin/composer; fi
composer() { "$PHP" "$at" "$@" --no-scripts --no-plugins --no-interaction --no-progress >&2; }
"""

# What lock and fetch share: a file of a registry, and the packages of a lock that come from one.
_SHARED = """\
cat > "$TMPDIR/shared.php" <<'END'
<?php
function fail($why) { fwrite(STDERR, "$why\\n"); exit(1); }
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
            fail("the lock holds what comes from no registry: {$one['name']}");
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
    file_put_contents($path, json_encode($what, $how | JSON_THROW_ON_ERROR) . "\\n");
}
END
"""

_LOCK = (
    _COMPOSER
    + _SHARED
    + """\
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
foreach (preg_split('/\\n/', $wanted, -1, PREG_SPLIT_NO_EMPTY) as $line) {
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
"""
)

# The names in an archive of zip's are those of the directory at its end.
_FETCH = (
    _SHARED
    + """\
cat > "$TMPDIR/fetch.php" <<'END'
<?php
require __DIR__ . '/shared.php';
function check_names($package, $content) {
    $end = strrpos($content, "PK\\5\\6");
    if ($end === false) fail("not a zip archive: $package");
    $at = unpack('V', $content, $end + 16)[1];
    while (substr($content, $at, 4) === "PK\\1\\2") {
        [, $name, $extra, $comment] = unpack('v3', $content, $at + 28);
        $path = substr($content, $at + 46, $name);
        if (preg_match('#^[/\\\\\\\\]|(^|[/\\\\\\\\])\\.\\.([/\\\\\\\\]|$)#', $path)) {
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
// What is asked for by nobody would not be loaded.
$require = array_fill_keys(array_column($lock['packages'], 'name'), '*');
write_json("$out/composer.json", ['require' => (object) $require]);
END
"$PHP" "$TMPDIR/fetch.php"
"""
)

_BUILD = (
    _COMPOSER
    + """\
mkdir "$TMPDIR/work"; cd "$TMPDIR/work"
cp "$AT/composer.json" "$AT/composer.lock" .
COMPOSER_VENDOR_DIR="$OUT/vendor" COMPOSER_DISABLE_NETWORK=1 composer install --no-dev
mkdir "$OUT/ini"
cat > "$OUT/ini/packages.ini" <<END
auto_prepend_file = "$AT/vendor/autoload.php"
packages.autoload = "$AT/vendor/autoload.php"
include_path = ".:$AT:$("$PHP" -r 'echo ltrim(get_include_path(), ".:");')"
END
"""
)

_PART = r"[A-Za-z0-9](?:[_.-]?[A-Za-z0-9]){0,80}"
_VERSION = r"(?:\^|~|>=|<=|!=|[<>=])?v?[0-9][A-Za-z0-9.*-]{0,40}(?:@[a-z]{2,6})?"

PHP = Ecosystem(
    name="php",
    title="PHP",
    languages=("php",),
    registry="https://repo.packagist.org",
    hosts=("api.github.com", "codeload.github.com"),
    spec=rf"{_PART}/{_PART}(?::{_VERSION}(?:(?:,|\|\|){_VERSION}){{0,3}})?",
    lock=_LOCK,
    fetch=_FETCH,
    build=_BUILD,
    at="/packages/php",
    # The opening colon keeps the default folder.
    env={"PHP_INI_SCAN_DIR": ":/packages/php/ini"},
    lock_name="composer.lock",
    locked_by='"sha256": "',
    wanted_files=("composer.lock",),
    tools=(COMPOSER,),
    complaints=(
        (r"digest mismatch", "a file is not what the lock's digest says"),
        (r"holds no digest", "there is no digest of it"),
        (r"of no registry|from no registry", "the lock holds what comes from no registry"),
        (r"leads out of", "an archive holds a name that leads out of its folder"),
        (
            r"could not be found in any version|not found, it could not|404 Not Found",
            "there is no such package",
        ),
        (r"could not be resolved", "no versions fit together"),
        (r"unzip/7z commands are both missing", "unpacking needs unzip, which is missing"),
        (
            r"not a zip|the lock is damaged|(?i:corrupt|invalid zip)|cannot find zipfile",
            "an archive is damaged",
        ),
    ),
    extra_env={
        "COMPOSER_HOME": "{scratch}/.composer",
        "COMPOSER_CACHE_DIR": "{scratch}/.composer-cache",
        "COMPOSER_ALLOW_SUPERUSER": "1",
        "COMPOSER_NO_AUDIT": "1",
        "COMPOSER_FUND": "0",
    },
    cooldown=False,
    pinned_here=True,
)
