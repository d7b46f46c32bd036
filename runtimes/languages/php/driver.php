<?php
// PHP interpreter for a user: runs one program after the other in the global scope, and
// shows the values of expressions. The last semicolon may be left out.
//
// A request comes on descriptor 3: a line with a token and the sizes of the fields after it
// (folder, bound file, name, code, arguments). The answer goes to descriptor 4: the token and an
// exit code. SIGINT ends only the program.
final class CtxmodeDriver
{
    public static bool $running = false;
    private static $requests;
    private static $answers;
    private static string $token = '';

    public static function open(): void
    {
        self::$requests = fopen('php://fd/3', 'rb');
        self::$answers = fopen('php://fd/4', 'wb');
        if (function_exists('pcntl_async_signals')) {
            pcntl_async_signals(true);
            pcntl_signal(SIGINT, function () {
                if (self::$running) {
                    throw new Exception('interrupted', 130);
                }
            });
        }
    }

    /** The next program's text, ready for eval; null at the end. */
    public static function next(): ?string
    {
        $header = fgets(self::$requests);
        if ($header === false) {
            return null;
        }
        $sizes = explode(' ', rtrim($header));
        self::$token = array_shift($sizes);
        $fields = array_map([self::class, 'field'], $sizes);
        [$folder, $bound, $name, $code] = $fields;
        if ($folder !== '') {
            chdir($folder);
        }
        if ($bound !== '') {
            $GLOBALS['FILE_CONTENT'] = file_get_contents($bound);
            $GLOBALS['FILE_CONTENT_PATH'] = $bound;
        }
        $GLOBALS['argv'] = [$name, ...array_slice($fields, 4)];
        $GLOBALS['argc'] = count($GLOBALS['argv']);
        return self::evaluable(preg_replace('/^\s*<\?php\b/', '', $code));
    }

    public static function answer(int $status): void
    {
        fwrite(self::$answers, self::$token . " $status\n");
    }

    public static function show(mixed $value): void
    {
        if ($value !== null) {
            echo '=> ', var_export($value, true), "\n";
        }
    }

    public static function complain(Throwable $error): int
    {
        fwrite(STDERR, get_class($error) . ': ' . $error->getMessage() . "\n");
        return $error->getCode() === 130 ? 130 : 1;
    }

    private static function field(string $size): string
    {
        return $size === '0' ? '' : stream_get_contents(self::$requests, (int) $size);
    }

    /** An expression with a `return` before it; any other text with what it lacks at its end. */
    private static function evaluable(string $code): string
    {
        $bare = rtrim($code, "; \t\r\n");
        $printing = preg_match('/^\s*print\b/', $code);
        foreach ($printing ? ["$bare;"] : ["return $bare;", $code] as $text) {
            if (self::parses($text)) {
                return $text;
            }
        }
        return "$bare;";
    }

    private static function parses(string $code): bool
    {
        try {
            token_get_all("<?php $code", TOKEN_PARSE);
            return true;
        } catch (ParseError) {
            return false;
        }
    }
}

CtxmodeDriver::open();
while (($__ctxmode = CtxmodeDriver::next()) !== null) {
    try {
        CtxmodeDriver::$running = true;
        CtxmodeDriver::show(eval($__ctxmode));
        $__ctxmode = 0;
    } catch (Throwable $__ctxmode) {
        $__ctxmode = CtxmodeDriver::complain($__ctxmode);
    } finally {
        CtxmodeDriver::$running = false;
    }
    CtxmodeDriver::answer($__ctxmode);
}
