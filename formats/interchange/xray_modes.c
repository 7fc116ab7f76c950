// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/xray_modes.h"

enum {
    RECORD_NORMAL,
    RECORD_ARGUMENT,
    PROFILE_BLOCK_HEADER = 16,
};

// "xrayprof", as the number that the runtime writes.
static const uint64_t profile_magic = 0x7872617970726f66;

enum ch_status xray_basic_next(struct cursor *log, uint16_t version,
                               struct fdr_record *out)
{
    if (cursor_left(log) == 0)
        return CH_END;
    struct fdr_record record = { .offset = cursor_offset(log) };
    struct cursor c = cursor_child(log, XRAY_BASIC_RECORD_SIZE);
    uint16_t kind = cursor_u16(&c);
    record.cpu = cursor_u8(&c);
    uint8_t action = cursor_u8(&c);
    record.function = cursor_u32(&c);
    if (kind == RECORD_ARGUMENT)
        record.kind = FDR_CALL_ARGUMENT;
    else
        record.tsc = cursor_u64(&c);
    record.tid = (int32_t)cursor_u32(&c);
    record.pid = (int32_t)cursor_u32(&c);
    if (kind == RECORD_ARGUMENT)
        record.argument = cursor_u64(&c);
    if (!cursor_ok(log))
        return CH_ERR_TRUNCATED;
    if (kind > RECORD_ARGUMENT || (kind == RECORD_NORMAL && action >= FDR_ACTIONS))
        return CH_ERR_UNSUPPORTED;
    if (kind == RECORD_NORMAL) {
        record.kind = FDR_FUNCTION;
        record.action = action;
    }
    if (version < XRAY_BASIC_VERSION_MAX)
        record.pid = 0;
    *out = record;
    return CH_OK;
}

enum ch_status xray_profile_init(struct xray_profile *profile, const void *bytes,
                                 size_t size)
{
    struct cursor c = cursor_over(bytes, size);
    uint64_t magic = cursor_u64(&c);
    c.big_endian = magic == __builtin_bswap64(profile_magic);
    *profile = (struct xray_profile){ .version = cursor_u64(&c) };
    profile->timestamp = cursor_u64(&c);
    profile->pid = cursor_u64(&c);
    if (!cursor_ok(&c) || (magic != profile_magic && !c.big_endian))
        return CH_ERR_NOT_FOUND;
    profile->file = c;
    profile->block = cursor_over(NULL, 0);
    return CH_OK;
}

// profile_begin_block reads the header of a thread's block, which its size includes.
static enum ch_status profile_begin_block(struct xray_profile *profile)
{
    uint32_t size = cursor_u32(&profile->file);
    cursor_skip(&profile->file, 4); // the block's number
    profile->tid = cursor_u64(&profile->file);
    if (size < PROFILE_BLOCK_HEADER)
        return CH_ERR_MALFORMED;
    profile->block = cursor_child(&profile->file, size - PROFILE_BLOCK_HEADER);
    profile->block.big_endian = profile->file.big_endian;
    return cursor_ok(&profile->file) ? CH_OK : CH_ERR_TRUNCATED;
}

enum ch_status xray_profile_next(struct xray_profile *profile, struct xray_path *out)
{
    while (cursor_left(&profile->block) == 0) {
        if (cursor_left(&profile->file) == 0)
            return CH_END;
        enum ch_status status = profile_begin_block(profile);
        if (status != CH_OK)
            return status;
    }
    out->tid = profile->tid;
    out->count = 0;
    uint32_t function;
    while ((function = cursor_u32(&profile->block)) != 0) {
        if (out->count == XRAY_PATH_MAX) {
            profile->file = profile->block = cursor_over(NULL, 0);
            return CH_ERR_LIMIT;
        }
        out->functions[out->count++] = function;
    }
    out->calls = cursor_u64(&profile->block);
    out->time = cursor_u64(&profile->block);
    if (cursor_ok(&profile->block))
        return CH_OK;
    profile->file = profile->block = cursor_over(NULL, 0);
    return CH_ERR_TRUNCATED;
}
