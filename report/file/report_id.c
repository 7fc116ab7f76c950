// SPDX-License-Identifier: Apache-2.0
#include "report/file/report_id.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#ifndef GRND_INSECURE
#define GRND_INSECURE 0x0004
#endif

enum { RANDOM_BYTES = 10 };

// fill_from_clock makes an id that is unique, not secret: where the kernel gives no
// random bytes (a sandbox that forbids the call), clock, process and address space
// layout must do.
static void fill_from_clock(uint8_t *out)
{
    struct timespec now = { 0 };
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t mix = (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 32 ^ (uintptr_t)&now;
    for (size_t i = 0; i < RANDOM_BYTES; i++) {
        mix = mix * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        out[i] = (uint8_t)(mix >> 56);
    }
}

static void fill_random(uint8_t *out)
{
    ssize_t got = getrandom(out, RANDOM_BYTES, GRND_INSECURE);
    if (got != RANDOM_BYTES && errno == EINVAL) // a kernel before 5.6
        got = getrandom(out, RANDOM_BYTES, GRND_NONBLOCK);
    if (got != RANDOM_BYTES)
        fill_from_clock(out);
}

void report_id_make(uint64_t unix_ms, char out[static REPORT_ID_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[16];

    for (size_t i = 0; i < 6; i++)
        bytes[i] = (uint8_t)(unix_ms >> (40 - 8 * i));
    fill_random(bytes + 6);
    bytes[6] = (uint8_t)(0x70 | (bytes[6] & 0x0f)); // RFC 9562, section 5.7: version
    bytes[8] = (uint8_t)(0x80 | (bytes[8] & 0x3f)); // and variant

    char *at = out;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *at++ = '-';
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 0x0f];
    }
    *at = 0;
}

bool report_id_ok(const char *id)
{
    static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    for (size_t i = 0; i < sizeof(shape) - 1; i++) {
        bool digit = (id[i] >= '0' && id[i] <= '9') || (id[i] >= 'a' && id[i] <= 'f');
        if (shape[i] == 'x' ? !digit : id[i] != '-')
            return false;
    }
    return id[sizeof(shape) - 1] == 0;
}

uint64_t report_id_time_ms(const char *id)
{
    uint64_t ms = 0;
    for (size_t i = 0; i < 13; i++) {
        if (id[i] == '-')
            continue;
        ms = ms << 4 | (uint64_t)(id[i] <= '9' ? id[i] - '0' : id[i] - 'a' + 10);
    }
    return ms;
}
