// Types into a terminal: what is pushed there is read by whoever reads it next, such as a shell.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main(void) {
    setsid();
    int master = posix_openpt(O_RDWR);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
        puts("REFUSED");
        return 0;
    }
    int terminal = open(ptsname(master), O_RDWR);
    puts(terminal >= 0 && ioctl(terminal, TIOCSTI, "x") == 0 ? "ALLOWED" : "REFUSED");
    return 0;
}
