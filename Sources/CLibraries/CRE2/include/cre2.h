// A C face on RE2: regular expressions in time linear in the text.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cre2_pattern cre2_pattern;

/// Compiles `text`. On a mistake returns NULL and writes the reason into `error` (NUL-terminated).
cre2_pattern *cre2_compile(const char *text, size_t length, bool ignore_case, char *error, size_t error_capacity);
void cre2_free(cre2_pattern *pattern);
/// The number of capturing groups.
int cre2_groups(const cre2_pattern *pattern);
/// Searches `text`; `offsets` receives 2 * count values: start and end of the match and of each group, -1 for none.
bool cre2_search(
    const cre2_pattern *pattern, const char *text, size_t length, bool whole, long *offsets, int count);

#ifdef __cplusplus
}
#endif
