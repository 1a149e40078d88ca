// libwebsockets for Swift: the constants that are macros with casts or shifts.
#pragma once
#include <libwebsockets.h>

/// Room that lws_write needs before the payload.
static const size_t rw_lws_pre = LWS_PRE;

/// Of the first context of the process, which sets up OpenSSL, and of vhosts; of the contexts that come later.
static const uint64_t rw_lws_options_tls =
    LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | LWS_SERVER_OPTION_EXPLICIT_VHOSTS;
static const uint64_t rw_lws_options_context = LWS_SERVER_OPTION_EXPLICIT_VHOSTS;
static const uint64_t rw_lws_option_no_system_ca = LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS;
static const int rw_lws_no_listen = CONTEXT_PORT_NO_LISTEN;
static const int rw_lws_no_listen_server = CONTEXT_PORT_NO_LISTEN_SERVER;

static const int rw_lws_client_tls = LCCSCF_USE_SSL;
static const int rw_lws_client_tls_unverified = LCCSCF_USE_SSL | LCCSCF_ALLOW_SELFSIGNED |
    LCCSCF_SKIP_SERVER_CERT_HOSTNAME_CHECK | LCCSCF_ALLOW_EXPIRED | LCCSCF_ALLOW_INSECURE;

/// Hands a bound and listening socket to `vhost` as a file, so that the caller accepts the connections.
static inline struct lws *rw_lws_adopt_listener(struct lws_vhost *vhost, int descriptor, const char *protocol) {
    lws_sock_file_fd_type file;
    file.filefd = descriptor;
    return lws_adopt_descriptor_vhost(vhost, LWS_ADOPT_RAW_FILE_DESC, file, protocol, NULL);
}

/// Hands an accepted connection to `vhost` as an HTTP connection, with TLS when the vhost has it.
static inline struct lws *rw_lws_adopt_connection(struct lws_vhost *vhost, int descriptor) {
    lws_sock_file_fd_type file;
    file.sockfd = descriptor;
    return lws_adopt_descriptor_vhost(
        vhost, (lws_adoption_type)(LWS_ADOPT_HTTP | LWS_ADOPT_SOCKET | LWS_ADOPT_ALLOW_SSL), file, NULL, NULL);
}

static inline int rw_lws_write(struct lws *wsi, unsigned char *data, size_t length, enum lws_write_protocol kind) {
    return lws_write(wsi, data, length, kind);
}
