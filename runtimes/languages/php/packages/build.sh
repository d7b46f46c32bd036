mkdir "$TMPDIR/work"; cd "$TMPDIR/work"
cp "$AT/composer.json" "$AT/composer.lock" .
COMPOSER_VENDOR_DIR="$OUT/vendor" COMPOSER_DISABLE_NETWORK=1 composer install --no-dev
mkdir "$OUT/ini"
cat > "$OUT/ini/packages.ini" <<END
auto_prepend_file = "$AT/vendor/autoload.php"
packages.autoload = "$AT/vendor/autoload.php"
include_path = ".:$AT:$("$PHP" -r 'echo ltrim(get_include_path(), ".:");')"
END
