#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *FILE_CONTENT = "";
const char *FILE_CONTENT_PATH = "";
unsigned long FILE_CONTENT_LENGTH = 0;

static unsigned long valid_length(const unsigned char *at, unsigned long left) {
    unsigned long length = *at < 0x80 ? 1 : *at < 0xC2 ? 0 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3
                         : *at < 0xF5 ? 4 : 0;
    if (length > left) return 0;
    for (unsigned long i = 1; i < length; i++)
        if ((at[i] & 0xC0) != 0x80) return 0;
    if ((*at == 0xE0 && at[1] < 0xA0) || (*at == 0xED && at[1] > 0x9F)) return 0;
    if ((*at == 0xF0 && at[1] < 0x90) || (*at == 0xF4 && at[1] > 0x8F)) return 0;
    return length;
}

__attribute__((constructor(101))) static void read_file_content(void) {
    FILE_CONTENT_PATH = getenv("FILE_CONTENT_PATH");
    FILE *file = FILE_CONTENT_PATH ? fopen(FILE_CONTENT_PATH, "rb") : NULL;
    if (!file) { perror("FILE_CONTENT_PATH"); exit(1); }
    unsigned long size = 0, room = 1 << 16, got;
    unsigned char *raw = malloc(room);
    while (raw && (got = fread(raw + size, 1, room - size, file)) > 0)
        if ((size += got) == room) raw = realloc(raw, room *= 2);
    fclose(file);
    char *text = raw ? malloc(size * 3 + 1) : NULL, *to = text;
    if (!text) { perror("FILE_CONTENT"); exit(1); }
    for (unsigned long i = 0, length; i < size; i += length ? length : 1) {
        length = valid_length(raw + i, size - i);
        memcpy(to, length ? (char *)raw + i : "\xEF\xBF\xBD", length ? length : 3);
        to += length ? length : 3;
    }
    *to = 0;
    free(raw);
    FILE_CONTENT = text;
    FILE_CONTENT_LENGTH = to - text;
}
