// SPDX-License-Identifier: Apache-2.0
#include "collector/server/load.h"

#include <sys/random.h>

enum {
    SMALL = 64 << 10, // bytes of a body that may use the last quarter
    SLOWEST = 10,     // reports a second that are expected of any store
    WAIT_MAX_S = 120, // without the part that chance adds
};

void load_init(struct load *load)
{
    pthread_mutex_init(&load->lock, NULL);
}

void load_deinit(struct load *load)
{
    pthread_mutex_destroy(&load->lock);
}

// load_room is how much of a limit a body of that size may use.
static size_t load_room(size_t limit, size_t size)
{
    return size <= SMALL ? limit : limit / 4 * 3;
}

bool load_take(struct load *load, size_t token, size_t had, size_t size)
{
    pthread_mutex_lock(&load->lock);
    bool fits =
        load->bytes + size <= load_room(LOAD_BYTES, had + size) &&
        load->token_bytes[token] + size <= load_room(LOAD_TOKEN_BYTES, had + size);
    if (fits) {
        load->bytes += size;
        load->token_bytes[token] += size;
    }
    pthread_mutex_unlock(&load->lock);
    return fits;
}

void load_give_back(struct load *load, size_t token, size_t size)
{
    pthread_mutex_lock(&load->lock);
    load->bytes -= size;
    load->token_bytes[token] -= size;
    pthread_mutex_unlock(&load->lock);
}

size_t load_held(struct load *load)
{
    pthread_mutex_lock(&load->lock);
    size_t bytes = load->bytes;
    pthread_mutex_unlock(&load->lock);
    return bytes;
}

// load_slot empties the seconds that have passed, and returns the current one's index.
static size_t load_slot(struct load *load, int64_t now_ms)
{
    int64_t now = now_ms / 1000;
    int64_t from =
        now - load->second < LOAD_SECONDS ? load->second : now - LOAD_SECONDS;
    for (int64_t second = from + 1; second <= now; second++) {
        load->refused[second % LOAD_SECONDS] = 0;
        load->stored[second % LOAD_SECONDS] = 0;
    }
    if (now > load->second)
        load->second = now;
    return (size_t)(load->second % LOAD_SECONDS);
}

void load_stored(struct load *load, unsigned count, int64_t now_ms)
{
    pthread_mutex_lock(&load->lock);
    unsigned *stored = &load->stored[load_slot(load, now_ms)];
    *stored += count;
    if (*stored > load->best)
        load->best = *stored;
    pthread_mutex_unlock(&load->lock);
}

// load_wait is how many seconds those who were refused lately need together. A store
// that was down stores nothing, but will do what it could do before.
static unsigned load_wait(const struct load *load)
{
    unsigned refused = 0;
    unsigned stored = 0;
    for (size_t i = 0; i < LOAD_SECONDS; i++) {
        refused += load->refused[i];
        stored += load->stored[i];
    }
    unsigned rate = stored / LOAD_SECONDS;
    if (rate < load->best / 2)
        rate = load->best / 2;
    if (rate < SLOWEST)
        rate = SLOWEST;
    unsigned wait = 1 + refused / rate;
    return wait < WAIT_MAX_S ? wait : WAIT_MAX_S;
}

unsigned load_spread(unsigned wait_s)
{
    unsigned chance = 0;
    if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) != (ssize_t)sizeof(chance))
        return wait_s;
    return wait_s + chance % (wait_s + 1);
}

unsigned load_refuse(struct load *load, int64_t now_ms)
{
    pthread_mutex_lock(&load->lock);
    load->refused[load_slot(load, now_ms)]++;
    unsigned wait_s = load_wait(load);
    pthread_mutex_unlock(&load->lock);
    return load_spread(wait_s);
}
