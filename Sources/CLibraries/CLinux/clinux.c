#define _GNU_SOURCE
#include <sys/socket.h>

#include "clinux.h"

_Static_assert(sizeof(struct rw_mmsghdr) == sizeof(struct mmsghdr), "the mirror of struct mmsghdr");

int rw_recvmmsg(int fd, struct rw_mmsghdr *messages, unsigned int count, int flags) {
    return recvmmsg(fd, (struct mmsghdr *)messages, count, flags, 0);
}

int rw_sendmmsg(int fd, struct rw_mmsghdr *messages, unsigned int count, int flags) {
    return sendmmsg(fd, (struct mmsghdr *)messages, count, flags);
}
