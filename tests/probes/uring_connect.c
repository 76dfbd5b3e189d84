// Opens a socket and connects it by io_uring: two operations that no filter of socket() and connect() sees.
// Arguments: an IPv4 address and a port.

#include <arpa/inet.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct ring {
    int descriptor;
    struct io_uring_params parameters;
    char *submissions;
    char *completions;
    struct io_uring_sqe *entries;
};

static unsigned *at(char *base, unsigned offset) {
    return (unsigned *)(base + offset);
}

static char *map(int descriptor, size_t length, off_t offset) {
    return mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, offset);
}

// Gives the kernel one operation and waits for what came of it.
static int perform(struct ring *ring, struct io_uring_sqe operation) {
    unsigned *tail = at(ring->submissions, ring->parameters.sq_off.tail);
    unsigned slot = *tail & *at(ring->submissions, ring->parameters.sq_off.ring_mask);
    ring->entries[slot] = operation;
    at(ring->submissions, ring->parameters.sq_off.array)[slot] = slot;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring->descriptor, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0) return -1;
    unsigned *head = at(ring->completions, ring->parameters.cq_off.head);
    unsigned done = *head & *at(ring->completions, ring->parameters.cq_off.ring_mask);
    struct io_uring_cqe *results = (struct io_uring_cqe *)(ring->completions + ring->parameters.cq_off.cqes);
    int result = results[done].res;
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    return result;
}

static int set_up(struct ring *ring) {
    ring->descriptor = syscall(SYS_io_uring_setup, 4, &ring->parameters);
    if (ring->descriptor < 0) return -1;
    ring->submissions = map(ring->descriptor, 4096, IORING_OFF_SQ_RING);
    ring->completions = map(ring->descriptor, 4096, IORING_OFF_CQ_RING);
    ring->entries = (struct io_uring_sqe *)map(ring->descriptor, 4096, IORING_OFF_SQES);
    return 0;
}

int main(int count, char **arguments) {
    struct ring ring = {0};
    if (count != 3 || set_up(&ring) != 0) {
        puts("REFUSED");
        return 0;
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[2]))};
    inet_pton(AF_INET, arguments[1], &address.sin_addr);
    struct io_uring_sqe open = {.opcode = IORING_OP_SOCKET, .fd = AF_INET, .off = SOCK_STREAM};
    int opened = perform(&ring, open);
    struct io_uring_sqe connect = {.opcode = IORING_OP_CONNECT, .fd = opened, .off = sizeof address};
    connect.addr = (unsigned long)&address;
    puts(opened >= 0 && perform(&ring, connect) == 0 ? "TCP-OPEN" : "REFUSED");
    return 0;
}
