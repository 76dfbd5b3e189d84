// Puts a key into the kernel's keyrings, which outlive the command and reach beyond its namespaces.

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREAD_KEYRING (-1)

int main(void) {
    long key = syscall(SYS_add_key, "user", "corpus", "x", 1, THREAD_KEYRING);
    puts(key < 0 ? "REFUSED" : "ALLOWED");
    return 0;
}
