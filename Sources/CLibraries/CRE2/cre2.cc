#include "cre2.h"

#include <re2/re2.h>

#include <cstring>
#include <new>
#include <vector>

struct cre2_pattern {
    re2::RE2 expression;
    cre2_pattern(const re2::StringPiece &text, const re2::RE2::Options &options) : expression(text, options) {}
};

extern "C" cre2_pattern *cre2_compile(
    const char *text, size_t length, bool ignore_case, char *error, size_t error_capacity) {
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_case_sensitive(!ignore_case);
    options.set_max_mem(8 << 20);
    auto *pattern = new (std::nothrow) cre2_pattern(re2::StringPiece(text, length), options);
    if (pattern == nullptr) return nullptr;
    if (pattern->expression.ok()) return pattern;
    if (error_capacity > 0) {
        std::strncpy(error, pattern->expression.error().c_str(), error_capacity - 1);
        error[error_capacity - 1] = 0;
    }
    delete pattern;
    return nullptr;
}

extern "C" void cre2_free(cre2_pattern *pattern) { delete pattern; }

extern "C" int cre2_groups(const cre2_pattern *pattern) { return pattern->expression.NumberOfCapturingGroups(); }

extern "C" bool cre2_search(
    const cre2_pattern *pattern, const char *text, size_t length, bool whole, long *offsets, int count) {
    std::vector<re2::StringPiece> parts(count > 0 ? count : 1);
    auto anchor = whole ? re2::RE2::ANCHOR_BOTH : re2::RE2::UNANCHORED;
    if (!pattern->expression.Match(re2::StringPiece(text, length), 0, length, anchor, parts.data(), count)) return false;
    for (int i = 0; i < count; i++) {
        bool present = parts[i].data() != nullptr;
        offsets[2 * i] = present ? parts[i].data() - text : -1;
        offsets[2 * i + 1] = present ? parts[i].data() - text + (long)parts[i].size() : -1;
    }
    return true;
}
