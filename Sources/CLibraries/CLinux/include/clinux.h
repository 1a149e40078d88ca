// What Glibc's Swift module lacks: Linux calls and structures that the loop needs.
#pragma once
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <pthread.h>
#include <signal.h>

/// recvmmsg(2) and sendmmsg(2) are visible only with _GNU_SOURCE, which Swift's importer does not define.
struct rw_mmsghdr {
    struct msghdr msg_hdr;
    unsigned int msg_len;
};
int rw_recvmmsg(int fd, struct rw_mmsghdr *messages, unsigned int count, int flags);
int rw_sendmmsg(int fd, struct rw_mmsghdr *messages, unsigned int count, int flags);
