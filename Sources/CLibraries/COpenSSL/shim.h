#pragma once
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// SHA-1 with a state that is copied as a value. EVP's copy allocates, which a packet must not do; OpenSSL 3 calls these deprecated.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static inline void rw_sha1_begin(SHA_CTX *state) { SHA1_Init(state); }
static inline void rw_sha1_add(SHA_CTX *state, const void *bytes, size_t count) { SHA1_Update(state, bytes, count); }
static inline void rw_sha1_end(SHA_CTX *state, unsigned char *digest) { SHA1_Final(digest, state); }
#pragma GCC diagnostic pop
