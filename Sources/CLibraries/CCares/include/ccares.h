// One question to c-ares that waits for its answer. Plain types only: what c-ares' own header brings along stays out of Swift's sight.
#ifndef CCARES_H
#define CCARES_H

// One record of an answer; what does not belong to its kind is zero.
struct rw_name_record {
    int kind;                    // 35: NAPTR, 33: SRV, 1: A, 28: AAAA
    int ttl;                     // seconds; addresses only
    unsigned short numbers[3];   // NAPTR: order, preference; SRV: priority, weight, port
    const char *texts[3];        // NAPTR: flags, service, replacement; SRV: target
    unsigned char octets[16];    // addresses, network order
};

// Asks for NAPTR (35), SRV (33) or addresses (1). `servers`: "192.0.2.53:53", several with commas; NULL: this machine's.
// `tell` gets each record before this comes back. Returns 0: answered; 1: there is nothing; -1: nobody answered.
int rw_name_ask(const char *servers, const char *name, int kind, void (*tell)(void *context, const struct rw_name_record *record),
    void *context);

#endif
