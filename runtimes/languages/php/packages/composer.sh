at="$COMPOSER"; unset COMPOSER  # which to composer is the name of a manifest
if [ -f /usr/share/php/Composer/autoload.php ]; then at=/usr/bin/composer; fi
composer() { "$PHP" "$at" "$@" --no-scripts --no-plugins --no-interaction --no-progress >&2; }
