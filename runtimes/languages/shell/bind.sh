{ FILE_CONTENT=$(cat -- "$FILE_CONTENT_PATH"; printf x); } 2>/dev/null
FILE_CONTENT=${FILE_CONTENT%x}
