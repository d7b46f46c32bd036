/* What is the FNV-1a hash of it all? */
#include <stdint.h>
#include <stdio.h>

int main(void) {
    FILE *in = fopen("corpus.txt", "rb");
    if (!in) {
        perror("corpus.txt");
        return 1;
    }
    uint32_t digest = 0x811C9DC5u;
    int byte;
    while ((byte = getc(in)) != EOF) {
        digest = (digest ^ (uint32_t)byte) * 0x01000193u;
    }
    printf("%lu\n", (unsigned long)digest);
    return 0;
}
