// Preloaded into the programs that tests call: they say by themselves which ports they have opened, since neither they nor the kernel
// tell anybody. Each socket of UDP that is bound and each of TCP that listens is a line of standard error: "opened udp 5060".
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static void tell(int socket, int type, const char *name) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
    socklen_t length = sizeof address;
    int kind = 0;
    socklen_t size = sizeof kind;
    if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &kind, &size) || kind != type) return;
    if (getsockname(socket, &address.any, &length)) return;
    // Both families have the port at the same place.
    if (address.any.sa_family != AF_INET && address.any.sa_family != AF_INET6) return;
    char line[64];
    int count = snprintf(line, sizeof line, "opened %s %d\n", name, ntohs(address.v4.sin_port));
    if (write(STDERR_FILENO, line, count) < 0) return;
}

int bind(int socket, const struct sockaddr *address, socklen_t length) {
    int (*next)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "bind");
    int result = next(socket, address, length);
    if (!result) tell(socket, SOCK_DGRAM, "udp");
    return result;
}

int listen(int socket, int backlog) {
    int (*next)(int, int) = dlsym(RTLD_NEXT, "listen");
    int result = next(socket, backlog);
    if (!result) tell(socket, SOCK_STREAM, "tcp");
    return result;
}
