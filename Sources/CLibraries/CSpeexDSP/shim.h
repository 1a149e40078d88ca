#pragma once
#include <speex/speex_jitter.h>
#include <speex/speex_resampler.h>

static inline void rw_jitter_forget(void *data) { (void)data; }

// The data of packets stays with the caller: the jitter buffer neither copies nor frees it.
static inline void rw_jitter_keep_data(JitterBuffer *jitter) {
    jitter_buffer_ctl(jitter, JITTER_BUFFER_SET_DESTROY_CALLBACK, (void *)rw_jitter_forget);
}
