#include "ccares.h"
#include <ares.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

struct asking {
    void (*tell)(void *, const struct rw_name_record *);
    void *context;
    int kind, done, result;
};

static int of_status(int status) {
    return status == ARES_SUCCESS ? 0 : status == ARES_ENODATA || status == ARES_ENOTFOUND ? 1 : -1;
}

static void took_records(void *argument, int status, int timeouts, unsigned char *octets, int count) {
    struct asking *asking = argument;
    (void)timeouts;
    asking->done = 1;
    asking->result = of_status(status);
    if (status != ARES_SUCCESS) return;
    if (asking->kind == 35) {
        struct ares_naptr_reply *list = NULL;
        if (ares_parse_naptr_reply(octets, count, &list) != ARES_SUCCESS) { asking->result = 1; return; }
        for (struct ares_naptr_reply *next = list; next; next = next->next) {
            struct rw_name_record record = {.kind = 35, .numbers = {next->order, next->preference},
                .texts = {(char *)next->flags, (char *)next->service, next->replacement}};
            asking->tell(asking->context, &record);
        }
        ares_free_data(list);
    } else {
        struct ares_srv_reply *list = NULL;
        if (ares_parse_srv_reply(octets, count, &list) != ARES_SUCCESS) { asking->result = 1; return; }
        for (struct ares_srv_reply *next = list; next; next = next->next) {
            struct rw_name_record record = {.kind = 33, .numbers = {next->priority, next->weight, next->port}, .texts = {next->host}};
            asking->tell(asking->context, &record);
        }
        ares_free_data(list);
    }
}

static void took_addresses(void *argument, int status, int timeouts, struct ares_addrinfo *found) {
    struct asking *asking = argument;
    (void)timeouts;
    asking->done = 1;
    asking->result = of_status(status);
    if (status != ARES_SUCCESS || !found) return;
    for (struct ares_addrinfo_node *next = found->nodes; next; next = next->ai_next) {
        struct rw_name_record record = {.ttl = next->ai_ttl};
        if (next->ai_family == AF_INET) {
            record.kind = 1;
            memcpy(record.octets, &((struct sockaddr_in *)next->ai_addr)->sin_addr, 4);
        } else if (next->ai_family == AF_INET6) {
            record.kind = 28;
            memcpy(record.octets, &((struct sockaddr_in6 *)next->ai_addr)->sin6_addr, 16);
        } else {
            continue;
        }
        asking->tell(asking->context, &record);
    }
    ares_freeaddrinfo(found);
}

// Waits for the sockets of the channel, or for its own time. poll and not select: descriptors may be larger than select takes.
static void wait_for(ares_channel channel) {
    ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
    struct pollfd polled[ARES_GETSOCK_MAXNUM];
    int bits = ares_getsock(channel, sockets, ARES_GETSOCK_MAXNUM), count = 0, idle = 1;
    for (int index = 0; index < ARES_GETSOCK_MAXNUM; index++) {
        short events = (ARES_GETSOCK_READABLE(bits, index) ? POLLIN : 0) | (ARES_GETSOCK_WRITABLE(bits, index) ? POLLOUT : 0);
        if (events) polled[count++] = (struct pollfd){.fd = sockets[index], .events = events};
    }
    struct timeval longest = {1, 0}, limit, *pause = ares_timeout(channel, &longest, &limit);
    poll(polled, count, (int)(pause->tv_sec * 1000 + (pause->tv_usec + 999) / 1000));
    for (int index = 0; index < count; index++) {
        if (!polled[index].revents) continue;
        idle = 0;
        ares_process_fd(channel, polled[index].revents & (POLLIN | POLLERR | POLLHUP) ? polled[index].fd : ARES_SOCKET_BAD,
            polled[index].revents & POLLOUT ? polled[index].fd : ARES_SOCKET_BAD);
    }
    if (idle) ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void begin(void) { ares_library_init(ARES_LIB_INIT_ALL); }

int rw_name_ask(const char *servers, const char *name, int kind, void (*tell)(void *, const struct rw_name_record *), void *context) {
    pthread_once(&once, begin);
    // A server gets two seconds, and then once more.
    struct ares_options options = {.timeout = 2000, .tries = 2};
    ares_channel channel;
    if (ares_init_options(&channel, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES) != ARES_SUCCESS) return -1;
    struct asking asking = {tell, context, kind, 0, -1};
    if (!servers || ares_set_servers_ports_csv(channel, servers) == ARES_SUCCESS) {
        if (kind == 1) {
            struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC};
            ares_getaddrinfo(channel, name, NULL, &hints, took_addresses, &asking);
        } else {
            ares_query(channel, name, 1, kind, took_records, &asking);
        }
        while (!asking.done) wait_for(channel);
    }
    ares_destroy(channel);
    return asking.result;
}
