#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <linux/close_range.h>
#include <linux/errqueue.h>
#include <unistd.h>

#include "clinux.h"

_Static_assert(sizeof(struct rw_mmsghdr) == sizeof(struct mmsghdr), "the mirror of struct mmsghdr");

int rw_errno(void) { return errno; }

void rw_error_text(int number, char *text, unsigned long size) {
    char buffer[128];
    snprintf(text, size, "%s", strerror_r(number, buffer, sizeof buffer));
}

int rw_recvmmsg(int fd, struct rw_mmsghdr *messages, unsigned int count, int flags) {
    return recvmmsg(fd, (struct mmsghdr *)messages, count, flags, 0);
}

int rw_sendmmsg(int fd, struct rw_mmsghdr *messages, unsigned int count, int flags) {
    return sendmmsg(fd, (struct mmsghdr *)messages, count, flags);
}

long rw_receive(int fd, void *bytes, unsigned long size, struct sockaddr_in6 *name, long long *stamp) {
    struct iovec data = {bytes, size};
    union { struct cmsghdr header; char room[64]; } control;
    struct msghdr message = {
        .msg_name = name, .msg_namelen = name ? sizeof *name : 0, .msg_iov = &data, .msg_iovlen = 1,
        .msg_control = &control, .msg_controllen = sizeof control};
    long count = syscall(SYS_recvmsg, fd, &message, MSG_DONTWAIT);
    if (count < 0) return count;
    struct cmsghdr *part = CMSG_FIRSTHDR(&message);
    struct timespec time;
    *stamp = 0;
    if (part && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SO_TIMESTAMPNS && part->cmsg_len >= CMSG_LEN(sizeof time)) {
        memcpy(&time, CMSG_DATA(part), sizeof time);
        *stamp = time.tv_sec * 1000000000LL + time.tv_nsec;
    }
    return count;
}

long rw_send(int fd, const void *bytes, unsigned long count, const void *name, unsigned int length) {
    return syscall(SYS_sendto, fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL, name, length);
}

int rw_accept(int fd, void *address, unsigned int *length) {
    return accept4(fd, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int rw_epoll_change(int epoll, int operation, int fd, unsigned int events, unsigned long long data) {
    struct epoll_event event = {.events = events, .data = {.u64 = data}};
    return epoll_ctl(epoll, operation, fd, &event);
}

int rw_epoll_wait(int epoll, struct epoll_event *events, int count, long long nanoseconds) {
    static atomic_bool is_missing;
    if (!atomic_load_explicit(&is_missing, memory_order_relaxed)) {
        struct timespec limit = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
        int ready = (int)syscall(SYS_epoll_pwait2, epoll, events, count, nanoseconds < 0 ? NULL : &limit, NULL, 0);
        // Kernels before 5.11 answer ENOSYS, filters of system calls that are older than it ENOSYS or EPERM.
        if (ready >= 0 || (errno != ENOSYS && errno != EPERM)) return ready;
        atomic_store_explicit(&is_missing, true, memory_order_relaxed);
    }
    return rw_epoll_wait_by_poll(epoll, events, count, nanoseconds);
}

int rw_epoll_wait_by_poll(int epoll, struct epoll_event *events, int count, long long nanoseconds) {
    struct timespec limit = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
    struct pollfd poller = {.fd = epoll, .events = POLLIN};
    // A poller has input when one of its descriptors is ready.
    if (nanoseconds != 0 && ppoll(&poller, 1, nanoseconds < 0 ? NULL : &limit, NULL) < 0) return -1;
    return epoll_wait(epoll, events, count, 0);
}

int rw_recv_error(int fd, void *address, unsigned int *length, int *error) {
    char control[512];
    char byte;
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_name = address, .msg_namelen = *length, .msg_iov = &data, .msg_iovlen = 1,
        .msg_control = control, .msg_controllen = sizeof control};
    if (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return 0;
    *length = message.msg_namelen;
    *error = 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        if ((part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_RECVERR) ||
            (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_RECVERR)) {
            struct sock_extended_err details;
            memcpy(&details, CMSG_DATA(part), sizeof details);
            *error = (int)details.ee_errno;
        }
    }
    return 1;
}

int rw_thread_start(pthread_t *thread, void *(*body)(void *), void *argument, unsigned long stack) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack) pthread_attr_setstacksize(&attributes, stack);
    int result = pthread_create(thread, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
    return result;
}

void rw_thread_name(const char *name) {
    char bounded[16];
    snprintf(bounded, sizeof bounded, "%s", name);
    pthread_setname_np(pthread_self(), bounded);
}

void rw_thread_precise_timers(void) { prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0); }

int rw_thread_pin(int core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    return pthread_setaffinity_np(pthread_self(), sizeof cores, &cores);
}

unsigned long rw_thread_self(void) { return (unsigned long)pthread_self(); }

static volatile int signal_pipes[65];

static void signal_arrived(int number) {
    int saved = errno;
    int fd = signal_pipes[number] - 1;
    unsigned char byte = (unsigned char)number;
    if (fd >= 0 && write(fd, &byte, 1) < 0) { /* the pipe is full: enough signals are told already */ }
    errno = saved;
}

int rw_signal_catch(int number, int fd) {
    if (number < 1 || number > 64) { errno = EINVAL; return -1; }
    signal_pipes[number] = fd + 1;
    struct sigaction action = {.sa_flags = SA_RESTART};
    action.sa_handler = fd < 0 ? SIG_DFL : signal_arrived;
    sigemptyset(&action.sa_mask);
    return sigaction(number, &action, NULL);
}

int rw_signal_ignore(int number) {
    struct sigaction action = {.sa_flags = 0};
    action.sa_handler = SIG_IGN;
    sigemptyset(&action.sa_mask);
    return sigaction(number, &action, NULL);
}

int rw_signal_is_ignored(int number) {
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int rw_pipe(int ends[2]) { return pipe2(ends, O_NONBLOCK | O_CLOEXEC); }

// In the child of vfork(2), which shares our memory: it calls nothing but the system, and comes back only when something went wrong.
static void become(char *const words[], const int files[3], pid_t parent) {
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number < NSIG; number++) sigaction(number, &usual, NULL);
    if (setpgid(0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) return;
    // The parent that ended before that sends no signal.
    if (getppid() != parent) _exit(127);
    for (int number = 0; number < 3; number++)
        if (dup2(files[number], number) < 0) return;
    if (syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC) < 0 || sigprocmask(SIG_SETMASK, &none, NULL) < 0) return;
    execvp(words[0], words);
}

int rw_spawn(int *process, char *const words[], int input, int output, int errors) {
    const int files[3] = {input, output, errors};
    const pid_t parent = getpid();
    sigset_t all, before;
    int report[2], error = 0;
    if (pipe2(report, O_CLOEXEC) < 0) return errno;
    // No handler of ours runs in the child.
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t child = vfork();
    if (child == 0) {
        become(words, files, parent);
        error = errno;
        if (write(report[1], &error, sizeof error) < 0) _exit(126);
        _exit(127);
    }
    if (child < 0) error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(report[1]);
    if (child > 0 && read(report[0], &error, sizeof error) == sizeof error) waitpid(child, NULL, 0);
    close(report[0]);
    if (!error) *process = child;
    return error;
}

int rw_process_descriptor(int process) { return syscall(SYS_pidfd_open, process, 0); }

int rw_memory_file(const char *name) { return memfd_create(name, MFD_CLOEXEC); }

int rw_descriptor_limit(unsigned long *current, unsigned long *maximum) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return -1;
    *current = limit.rlim_cur;
    *maximum = limit.rlim_max;
    return 0;
}

int rw_descriptor_limit_set(unsigned long current) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return -1;
    limit.rlim_cur = current;
    return setrlimit(RLIMIT_NOFILE, &limit);
}
