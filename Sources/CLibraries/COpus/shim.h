#pragma once
#include <opus.h>

// Swift calls no function with a variable number of arguments.

static inline int rw_opus_set(OpusEncoder *encoder, int request, opus_int32 value) {
    return opus_encoder_ctl(encoder, request, value);
}

static inline void rw_opus_lookahead(OpusEncoder *encoder, opus_int32 *samples) {
    opus_encoder_ctl(encoder, OPUS_GET_LOOKAHEAD(samples));
}
