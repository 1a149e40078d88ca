/* libsrtp2 as the judge of our SRTP: commands on standard input, a line of hexadecimal digits or "error N" for each on standard output.
 *
 *   s SUITE KEY    a session anew, for both directions, with this master key and salt
 *   p PACKET       protects RTP          u PACKET    unprotects RTP
 *   P PACKET       protects RTCP         U PACKET    unprotects RTCP
 */
#include <srtp2/srtp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char buffer[4096];
static unsigned char key[64];

static int read_hex(const char *text, unsigned char *bytes, int most) {
    int count = 0;
    unsigned octet;
    while (count < most && sscanf(text + 2 * count, "%2x", &octet) == 1) bytes[count++] = (unsigned char)octet;
    return count;
}

static void set_policy(srtp_policy_t *policy, const char *suite) {
    if (!strcmp(suite, "AES_CM_128_HMAC_SHA1_80") || !strcmp(suite, "AES_CM_128_HMAC_SHA1_32")) {
        srtp_crypto_policy_set_rtp_default(&policy->rtp);
        if (strstr(suite, "_32")) srtp_crypto_policy_set_aes_cm_128_hmac_sha1_32(&policy->rtp);
        srtp_crypto_policy_set_rtcp_default(&policy->rtcp);
    } else if (!strncmp(suite, "AES_256_CM", 10)) {
        srtp_crypto_policy_set_aes_cm_256_hmac_sha1_80(&policy->rtp);
        if (strstr(suite, "_32")) srtp_crypto_policy_set_aes_cm_256_hmac_sha1_32(&policy->rtp);
        srtp_crypto_policy_set_aes_cm_256_hmac_sha1_80(&policy->rtcp);
    } else if (!strcmp(suite, "AEAD_AES_128_GCM")) {
        srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy->rtp);
        srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy->rtcp);
    } else {
        srtp_crypto_policy_set_aes_gcm_256_16_auth(&policy->rtp);
        srtp_crypto_policy_set_aes_gcm_256_16_auth(&policy->rtcp);
    }
}

int main(void) {
    static char line[16384], suite[64], digits[16384];
    srtp_t sender = NULL, receiver = NULL;
    if (srtp_init() != srtp_err_status_ok) return 3;
    while (fgets(line, sizeof line, stdin)) {
        int status = srtp_err_status_fail, length = 0;
        if (line[0] == 's' && sscanf(line, "s %63s %16000s", suite, digits) == 2) {
            srtp_policy_t policy;
            memset(&policy, 0, sizeof policy);
            set_policy(&policy, suite);
            read_hex(digits, key, sizeof key);
            policy.key = key;
            if (sender) srtp_dealloc(sender);
            if (receiver) srtp_dealloc(receiver);
            policy.ssrc.type = ssrc_any_outbound;
            status = srtp_create(&sender, &policy);
            policy.ssrc.type = ssrc_any_inbound;
            if (!status) status = srtp_create(&receiver, &policy);
        } else if (sscanf(line + 1, " %16000s", digits) == 1) {
            length = read_hex(digits, buffer, sizeof buffer - 256);
            if (line[0] == 'p') status = srtp_protect(sender, buffer, &length);
            if (line[0] == 'u') status = srtp_unprotect(receiver, buffer, &length);
            if (line[0] == 'P') status = srtp_protect_rtcp(sender, buffer, &length);
            if (line[0] == 'U') status = srtp_unprotect_rtcp(receiver, buffer, &length);
        }
        if (status) {
            printf("error %d\n", status);
        } else {
            for (int place = 0; place < length; place++) printf("%02x", buffer[place]);
            printf("\n");
        }
    }
    return 0;
}
