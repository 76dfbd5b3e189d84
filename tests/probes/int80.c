// Makes a directory by the 32-bit entry of the kernel, whose numbers mean other calls to a filter: 39 is
// mkdir there and getpid here. The path has to lie in the lowest 4 GiB.

#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
    char *path = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (path == MAP_FAILED) {
        puts("REFUSED");
        return 0;
    }
    strcpy(path, "made-by-int80");
    long answer;
    __asm__ volatile("int $0x80" : "=a"(answer) : "a"(39L), "b"(path), "c"(0700L) : "memory");
    puts(access("made-by-int80", F_OK) == 0 ? "ALLOWED" : "REFUSED");
    return 0;
}
