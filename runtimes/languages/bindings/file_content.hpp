#include <cstdio>
#include <cstdlib>
#include <string>
namespace file_content_reader {
@VALID_LENGTH@
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
