<?php
$FILE_CONTENT_PATH = getenv('FILE_CONTENT_PATH');
$FILE_CONTENT = file_get_contents($FILE_CONTENT_PATH);
if (!preg_match('//u', $FILE_CONTENT)) {
    $FILE_CONTENT = json_decode(json_encode($FILE_CONTENT, JSON_INVALID_UTF8_SUBSTITUTE));
}
define('FILE_CONTENT', $FILE_CONTENT);
define('FILE_CONTENT_PATH', $FILE_CONTENT_PATH);
// This is in place of what a layer of packages has loaded before a program.
if (get_cfg_var('packages.autoload')) {
    require get_cfg_var('packages.autoload');
}
