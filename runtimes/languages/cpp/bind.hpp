#include <cstdio>
#include <cstdlib>
#include <string>
namespace file_content_reader {
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

static const char *find_path() {
    const char *path = std::getenv("FILE_CONTENT_PATH");
    return path ? path : "";
}

static std::string read_text(const char *path) {
    std::FILE *file = std::fopen(path, "rb");
    if (!file) { std::perror("FILE_CONTENT_PATH"); std::exit(1); }
    std::string raw, text;
    char part[1 << 16];
    for (std::size_t got; (got = std::fread(part, 1, sizeof part, file)) > 0;)
        raw.append(part, got);
    std::fclose(file);
    text.reserve(raw.size());
    for (unsigned long i = 0, length; i < raw.size(); i += length ? length : 1) {
        const char *at = raw.data() + i;
        length = valid_length(reinterpret_cast<const unsigned char *>(at), raw.size() - i);
        text.append(length ? at : "\xEF\xBF\xBD", length ? length : 3);
    }
    return text;
}
}
static const std::string FILE_CONTENT_PATH(file_content_reader::find_path());
static const std::string FILE_CONTENT(file_content_reader::read_text(FILE_CONTENT_PATH.c_str()));
