// libcurl for Swift. Swift cannot call variadic functions, so each kind of option has a function of its own here.
#pragma once
#include <curl/curl.h>

static inline CURLcode rw_curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode rw_curl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode rw_curl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode rw_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode rw_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

typedef size_t (*rw_curl_data_function)(char *data, size_t size, size_t count, void *context);

static inline CURLcode rw_curl_set_data_function(CURL *easy, CURLoption option, rw_curl_data_function function) {
    return curl_easy_setopt(easy, option, function);
}

static inline CURLcode rw_curl_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode rw_curl_get_text(CURL *easy, CURLINFO info, const char **text) {
    return curl_easy_getinfo(easy, info, text);
}

static inline CURLcode rw_curl_get_time(CURL *easy, CURLINFO info, curl_off_t *microseconds) {
    return curl_easy_getinfo(easy, info, microseconds);
}

static inline CURLMcode rw_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/// What a finished message tells: the union of `CURLMsg`, read as a result code.
static inline CURLcode rw_curl_message_result(const CURLMsg *message) {
    return message->data.result;
}
