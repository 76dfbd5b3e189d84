// Asks the kernel for an io_uring, which carries out system calls past a filter of them.

#include <linux/io_uring.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    struct io_uring_params parameters = {0};
    long ring = syscall(SYS_io_uring_setup, 8, &parameters);
    puts(ring < 0 ? "REFUSED" : "ALLOWED");
    return 0;
}
