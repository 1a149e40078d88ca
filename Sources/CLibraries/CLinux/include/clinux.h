// What Glibc's Swift module lacks: Linux calls and structures that the loop needs.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <pthread.h>
#include <signal.h>

/// errno of the calling thread: a macro that Swift does not see through.
int rw_errno(void);
/// The system's words for an errno.
void rw_error_text(int number, char *text, unsigned long size);

/// recvmmsg(2) and sendmmsg(2) are visible only with _GNU_SOURCE, which Swift's importer does not define.
struct rw_mmsghdr {
    struct msghdr msg_hdr;
    unsigned int msg_len;
};
int rw_recvmmsg(int fd, struct rw_mmsghdr *messages, unsigned int count, int flags);
int rw_sendmmsg(int fd, struct rw_mmsghdr *messages, unsigned int count, int flags);

/// recvmsg(2) of one datagram, and sendto(2), neither waiting nor a cancellation point of pthread_cancel(3), which takes two locked
/// instructions each. `name` may be null; `stamp` gets what SO_TIMESTAMPNS tells in nanoseconds, or 0.
long rw_receive(int fd, void *bytes, unsigned long size, struct sockaddr_in6 *name, long long *stamp);
long rw_send(int fd, const void *bytes, unsigned long count, const void *name, unsigned int length);

/// Asks the processor for `count` lines of 64 octets from `address` on, without waiting for them; any address will do.
static inline void rw_prefetch(const void *address, int count) {
    for (int line = 0; line < count; line++) __builtin_prefetch((const char *)address + 64 * line);
}

/// accept4(2): not blocking, closed on exec.
int rw_accept(int fd, void *address, unsigned int *length);
/// epoll_ctl(2) with 64 bits of data.
int rw_epoll_change(int epoll, int operation, int fd, unsigned int events, unsigned long long data);
/// epoll_pwait2(2), or what does the same where the system lacks it; a negative time waits without limit.
int rw_epoll_wait(int epoll, struct epoll_event *events, int count, long long nanoseconds);
/// The same by ppoll(2) and epoll_wait(2), which cost a system call more.
int rw_epoll_wait_by_poll(int epoll, struct epoll_event *events, int count, long long nanoseconds);
/// Takes one entry of a socket's error queue (ip(7), IP_RECVERR): 1 with where the datagram went to and why it failed, 0 when empty.
int rw_recv_error(int fd, void *address, unsigned int *length, int *error);

int rw_thread_start(pthread_t *thread, void *(*body)(void *), void *argument, unsigned long stack);
/// Names the calling thread (15 octets at most are kept).
void rw_thread_name(const char *name);
/// Waits of the calling thread end within a microsecond of their time, instead of 50 (PR_SET_TIMERSLACK).
void rw_thread_precise_timers(void);
int rw_thread_pin(int core);
unsigned long rw_thread_self(void);

/// From now on the signal's number is written as one octet to `fd`; -1 gives the signal its default effect again.
int rw_signal_catch(int number, int fd);
int rw_signal_ignore(int number);
int rw_signal_is_ignored(int number);

/// pipe2(2): not blocking, closed on exec.
int rw_pipe(int ends[2]);

/// A program in a process group of its own, looked up as execvp(3) does, with these three descriptors (none of them below 3) and no other,
/// our environment, and every signal as by default. It is killed when the calling thread ends, in whatever way. 0, or the number of the
/// error.
int rw_spawn(int *process, char *const words[], int input, int output, int errors);
/// pidfd_open(2): readable when the process has ended.
int rw_process_descriptor(int process);
/// memfd_create(2): a file in memory, closed on exec.
int rw_memory_file(const char *name);

int rw_descriptor_limit(unsigned long *current, unsigned long *maximum);
int rw_descriptor_limit_set(unsigned long current);
