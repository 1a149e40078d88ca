// The machine's floor for two-way RTP: what a plain loop pays for one 172-byte datagram sent and received on loopback.
//
//   floor tick  CALLS SECONDS   a socket a call, read once a tick without epoll
//   floor pair  CALLS SECONDS   the same, but each end of the CALLS calls is a process with a core of its own
//   floor pair-connected …      the same with sockets that are connected to their peers, read for one datagram each tick
//   floor pair-stamped …        these, with the time of each arrival (SO_TIMESTAMPNS)
//   floor pair-uring …          connected ones, by one io_uring submission a tick
//   floor pair-shared …         one socket for all calls at the first end, in batches of 64; the other end is that of `pair`
//   floor epoll CALLS SECONDS   a socket a call, woken by epoll for each datagram
//   floor uring CALLS SECONDS   a socket a call, all receives and sends of a tick handed to the kernel by one io_uring submission
//   floor batch CALLS SECONDS   one socket for all, sendmmsg/recvmmsg of 64
//
// Both ends are in this process, but for the pairs: CALLS sockets send to each other in pairs, 50 packets a second each. It prints the CPU time per
// packet sent and received, and per call and second (50 packets), in microseconds.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PACKET = 172, BATCH = 64, TICK_NS = 20 * 1000 * 1000 };

static int *sockets;
static struct sockaddr_in *addresses;
static unsigned char packet[PACKET];
static long sent, received;

static int open_socket(struct sockaddr_in *address) {
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    if (fd < 0) { perror("socket"); exit(3); }
    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof *address;
    if (bind(fd, (struct sockaddr *)address, length) || getsockname(fd, (struct sockaddr *)address, &length)) {
        perror("bind");
        exit(3);
    }
    return fd;
}

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void send_one(int from, int to) {
    if (sendto(sockets[from], packet, PACKET, 0, (struct sockaddr *)&addresses[to], sizeof addresses[to]) == PACKET) sent++;
}

static int receive_one(int fd) {
    unsigned char buffer[2048];
    struct sockaddr_in source;
    socklen_t length = sizeof source;
    if (recvfrom(fd, buffer, sizeof buffer, 0, (struct sockaddr *)&source, &length) < 0) return 0;
    received++;
    return 1;
}

/// Every `step`th socket, from `first` on.
static void tick_turn(int calls, int first, int step) {
    for (int i = first; i < calls; i += step) {
        while (receive_one(sockets[i])) {}
        send_one(i, i ^ 1);
    }
}

static void connected_turn(int calls, int first) {
    unsigned char buffer[2048];
    for (int i = first; i < calls; i += 2) {
        if (recv(sockets[i], buffer, sizeof buffer, 0) >= 0) received++;
        if (send(sockets[i], packet, PACKET, 0) == PACKET) sent++;
    }
}

static void stamped_turn(int calls, int first) {
    unsigned char buffer[2048];
    char control[64];
    for (int i = first; i < calls; i += 2) {
        struct iovec part = {buffer, sizeof buffer};
        struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        if (recvmsg(sockets[i], &header, 0) >= 0) received++;
        if (send(sockets[i], packet, PACKET, 0) == PACKET) sent++;
    }
}

/// The first end's calls have the first socket.
static void shared_turn(int calls) {
    static struct mmsghdr out[BATCH], in[BATCH];
    static struct iovec out_part = {packet, PACKET}, in_parts[BATCH];
    static struct sockaddr_in sources[BATCH];
    static unsigned char buffers[BATCH][2048];
    int came = BATCH;
    while (came == BATCH) {
        for (int k = 0; k < BATCH; k++) {
            in_parts[k] = (struct iovec){buffers[k], sizeof buffers[k]};
            in[k].msg_hdr = (struct msghdr){
                .msg_name = &sources[k], .msg_namelen = sizeof sources[k], .msg_iov = &in_parts[k], .msg_iovlen = 1};
        }
        came = recvmmsg(sockets[0], in, BATCH, MSG_DONTWAIT, NULL);
        if (came > 0) received += came;
    }
    for (int i = 1; i < calls;) {
        int count = 0;
        for (; i < calls && count < BATCH; i += 2, count++)
            out[count].msg_hdr = (struct msghdr){
                .msg_name = &addresses[i], .msg_namelen = sizeof addresses[i], .msg_iov = &out_part, .msg_iovlen = 1};
        int went = sendmmsg(sockets[0], out, count, 0);
        if (went > 0) sent += went;
    }
}

static void epoll_turn(int calls, int poll) {
    struct epoll_event events[BATCH];
    for (int i = 0; i < calls; i++) {
        send_one(i, i ^ 1);
        int ready = epoll_wait(poll, events, BATCH, 0);
        for (int k = 0; k < ready; k++) receive_one(events[k].data.fd);
    }
}

static void batch_turn(int calls) {
    static struct mmsghdr out[BATCH], in[BATCH];
    static struct iovec out_parts[BATCH], in_parts[BATCH];
    static unsigned char buffers[BATCH][2048];
    for (int done = 0; done < calls; done += BATCH) {
        int count = calls - done < BATCH ? calls - done : BATCH;
        for (int k = 0; k < count; k++) {
            out_parts[k] = (struct iovec){packet, PACKET};
            out[k].msg_hdr = (struct msghdr){
                .msg_name = &addresses[1], .msg_namelen = sizeof addresses[1], .msg_iov = &out_parts[k], .msg_iovlen = 1};
        }
        int went = sendmmsg(sockets[0], out, count, 0);
        if (went > 0) sent += went;
        for (int k = 0; k < BATCH; k++) {
            in_parts[k] = (struct iovec){buffers[k], sizeof buffers[k]};
            in[k].msg_hdr = (struct msghdr){.msg_iov = &in_parts[k], .msg_iovlen = 1};
        }
        int came = recvmmsg(sockets[1], in, BATCH, MSG_DONTWAIT, NULL);
        if (came > 0) received += came;
    }
}

enum { SENDS = 1 << 30 };
static struct io_uring ring;

static void open_ring(int calls) {
    struct io_uring_params parameters = {.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
    int entries = 1;
    while (entries < calls * 2) entries *= 2;
    int error = io_uring_queue_init_params(entries, &ring, &parameters);
    if (!error) error = io_uring_register_files(&ring, sockets, calls);
    if (error) {
        fprintf(stderr, "io_uring: %s\n", strerror(-error));
        exit(3);
    }
}

/// Every `step`th socket, from `first` on; without `step` 1 they are connected.
static void uring_turn(int calls, int first, int step) {
    static unsigned char buffer[2048];
    int entries = 0;
    for (int i = first; i < calls; i += step, entries += 2) {
        struct io_uring_sqe *entry = io_uring_get_sqe(&ring);
        io_uring_prep_recv(entry, i, buffer, sizeof buffer, MSG_DONTWAIT);
        entry->flags |= IOSQE_FIXED_FILE;
        entry = io_uring_get_sqe(&ring);
        io_uring_prep_send(entry, i, packet, PACKET, MSG_DONTWAIT);
        if (step == 1) io_uring_prep_send_set_addr(entry, (struct sockaddr *)&addresses[i ^ 1], sizeof addresses[0]);
        entry->flags |= IOSQE_FIXED_FILE;
        entry->user_data = SENDS;
    }
    io_uring_submit_and_wait(&ring, entries);
    struct io_uring_cqe *done;
    unsigned head, count = 0;
    io_uring_for_each_cqe(&ring, head, done) {
        count++;
        if (done->res != PACKET) continue;
        if (done->user_data == SENDS) sent++;
        else received++;
    }
    io_uring_cq_advance(&ring, count);
}

static void pin(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    if (sched_setaffinity(0, sizeof set, &set)) perror("sched_setaffinity");
}

static void pass(struct timespec *next, long nanoseconds) {
    next->tv_nsec += nanoseconds;
    if (next->tv_nsec >= 1000000000) { next->tv_nsec -= 1000000000; next->tv_sec++; }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL);
}

/// Both processes have all sockets, and each uses its own half of them.
static int run_pair(const char *mode, int calls, int seconds) {
    int connected = !strcmp(mode, "pair-connected"), uring = !strcmp(mode, "pair-uring"), shared = !strcmp(mode, "pair-shared");
    int stamped = !strcmp(mode, "pair-stamped"), on = 1;
    if (!connected && !uring && !shared && !stamped && strcmp(mode, "pair")) return 2;
    // What comes for all calls in a tick has to find room.
    int room = 16 << 20;
    if (shared && setsockopt(sockets[0], SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room))
        setsockopt(sockets[0], SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    for (int i = 0; i < calls * 2; i++) {
        if (shared && i % 2 == 0) addresses[i] = addresses[0];
        if (stamped) setsockopt(sockets[i], SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
        if ((connected || uring || stamped) && connect(sockets[i], (struct sockaddr *)&addresses[i ^ 1], sizeof addresses[i])) {
            perror("connect");
            return 3;
        }
    }
    pid_t other = fork();
    if (other < 0) { perror("fork"); return 3; }
    int side = other == 0;
    pin(side);
    if (uring) open_ring(calls * 2);
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    if (side) pass(&next, TICK_NS / 2);
    double start = cpu_seconds();
    for (int turn = 0; turn < seconds * 50; turn++) {
        if (connected) connected_turn(calls * 2, side);
        else if (stamped) stamped_turn(calls * 2, side);
        else if (uring) uring_turn(calls * 2, side, 2);
        else if (shared && !side) shared_turn(calls * 2);
        else tick_turn(calls * 2, side, 2);
        pass(&next, TICK_NS);
    }
    double used = cpu_seconds() - start;
    if (side) _exit(0);
    struct rusage theirs;
    wait4(other, NULL, 0, &theirs);
    double other_used = theirs.ru_utime.tv_sec + theirs.ru_stime.tv_sec + (theirs.ru_utime.tv_usec + theirs.ru_stime.tv_usec) / 1e6;
    double each = 1e6 / calls / seconds;
    printf("{\"mode\":\"%s\",\"calls\":%d,\"sent\":%ld,\"received\":%ld,\"us_per_call_second\":%.1f,\"us_per_call_second_other\":%.1f}\n",
        mode, calls, sent, received, used * each, other_used * each);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: floor tick|pair|pair-connected|pair-stamped|pair-uring|pair-shared|epoll|uring|batch CALLS SECONDS\n");
        return 2;
    }
    const char *mode = argv[1];
    int calls = atoi(argv[2]) & ~1, seconds = atoi(argv[3]);
    int batch = !strcmp(mode, "batch"), with_epoll = !strcmp(mode, "epoll");
    int uring = !strcmp(mode, "uring"), pair = !strncmp(mode, "pair", 4);
    if (calls < 2 || seconds < 1 || (!batch && !with_epoll && !uring && !pair && strcmp(mode, "tick"))) return 2;
    int count = batch ? 2 : pair ? calls * 2 : calls;
    sockets = calloc(count, sizeof *sockets);
    addresses = calloc(count, sizeof *addresses);
    int poll = epoll_create1(0);
    for (int i = 0; i < count; i++) {
        sockets[i] = open_socket(&addresses[i]);
        struct epoll_event event = {.events = EPOLLIN, .data.fd = sockets[i]};
        if (with_epoll) epoll_ctl(poll, EPOLL_CTL_ADD, sockets[i], &event);
    }
    if (uring) open_ring(calls);
    packet[0] = 0x80;
    if (pair) return run_pair(mode, calls, seconds);
    double start = cpu_seconds();
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (int turn = 0; turn < seconds * 50; turn++) {
        if (batch) batch_turn(calls);
        else if (with_epoll) epoll_turn(calls, poll);
        else if (uring) uring_turn(calls, 0, 1);
        else tick_turn(calls, 0, 1);
        pass(&next, TICK_NS);
    }
    double used = cpu_seconds() - start;
    double per_packet = used * 1e6 / sent;
    printf("{\"mode\":\"%s\",\"calls\":%d,\"sent\":%ld,\"received\":%ld,\"us_per_packet\":%.2f,\"us_per_call_second\":%.1f}\n",
        mode, calls, sent, received, per_packet, per_packet * 50);
    return 0;
}
