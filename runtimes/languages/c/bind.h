extern const char *FILE_CONTENT;
extern const char *FILE_CONTENT_PATH;
extern unsigned long FILE_CONTENT_LENGTH;
