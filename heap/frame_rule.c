// SPDX-License-Identifier: Apache-2.0
#include "heap/frame_rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "heap/image.h"

_Static_assert(sizeof(struct frame_rule) == sizeof(uint64_t), "it is one word");

enum {
    REMEMBERED_MAX = 8,
#if defined(__x86_64__)
    REGISTER_FP = 6,
    REGISTER_SP = 7,
    REGISTER_RA = 16,
#elif defined(__aarch64__)
    REGISTER_FP = 29,
    REGISTER_SP = 31,
    REGISTER_RA = 30,
#endif
};

// Encodings of pointers (Linux Standard Base 5.0, core, 10.5.1).
enum {
    ENCODING_FORMAT = 0x0f,
    ENCODING_BASE = 0x70,
    ENCODING_ADDRESS = 0,
    ENCODING_UDATA4 = 3,
    ENCODING_UDATA8 = 4,
    ENCODING_SDATA4 = 0xb,
    ENCODING_SDATA8 = 0xc,
    ENCODING_PCREL = 0x10,
    ENCODING_DATAREL_SDATA4 = 0x3b,
    ENCODING_PCREL_SDATA4 = 0x1b,
    ENCODING_OMITTED = 0xff,
};

// DWARF 5, 7.24, and GNU's additions.
enum {
    CFA_ADVANCE_LOC = 1, // in the two high bits
    CFA_OFFSET = 2,
    CFA_RESTORE = 3,
    CFA_SET_LOC = 1,
    CFA_ADVANCE_LOC1 = 2,
    CFA_ADVANCE_LOC2 = 3,
    CFA_ADVANCE_LOC4 = 4,
    CFA_OFFSET_EXTENDED = 5,
    CFA_RESTORE_EXTENDED = 6,
    CFA_UNDEFINED = 7,
    CFA_SAME_VALUE = 8,
    CFA_REGISTER = 9,
    CFA_REMEMBER_STATE = 0xa,
    CFA_RESTORE_STATE = 0xb,
    CFA_DEF_CFA = 0xc,
    CFA_DEF_CFA_REGISTER = 0xd,
    CFA_DEF_CFA_OFFSET = 0xe,
    CFA_DEF_CFA_EXPRESSION = 0xf,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_NEGATE_RA_STATE = 0x2d,
    CFA_ARGS_SIZE = 0x2e,
    OP_DEREF = 6,
    OP_BREG0 = 0x70,
};

// bytes are read up to end; after that everything is 0 and at is NULL.
struct bytes {
    const uint8_t *at;
    const uint8_t *end;
};

enum saved_kind { SAVED_SAME, SAVED_AT_CFA, SAVED_AT_FP, SAVED_UNDEFINED, SAVED_OTHER };

struct saved {
    enum saved_kind kind;
    int64_t offset;
};

struct row {
    uint64_t cfa_register;
    int64_t cfa_offset;
    bool is_loaded; // cfa_register plus cfa_offset is the address of the CFA
    bool is_other;  // an expression that is not known here
    struct saved ra;
    struct saved fp;
};

struct entry {
    struct bytes instructions;
    struct bytes initial; // of the CIE
    uint64_t start;
    uint64_t code_factor;
    int64_t data_factor;
    uint8_t encoding;
    bool has_augmentation;
    bool is_signal;
};

static const uint8_t *take_bytes(struct bytes *from, size_t size)
{
    const uint8_t *at = from->at;
    if (at == NULL || (size_t)(from->end - at) < size) {
        from->at = NULL;
        return NULL;
    }
    from->at += size;
    return at;
}

static uint64_t rule_take_number(struct bytes *from, size_t size)
{
    uint64_t value = 0;
    const uint8_t *at = take_bytes(from, size);
    if (at != NULL)
        memcpy(&value, at, size); // both architectures are little-endian
    return value;
}

static uint64_t take_uleb(struct bytes *from)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t byte = rule_take_number(from, 1);
        value |= (byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            break;
    }
    return value;
}

static int64_t take_sleb(struct bytes *from)
{
    uint64_t value = 0;
    uint64_t byte = 0;
    unsigned shift = 0;
    do {
        byte = rule_take_number(from, 1);
        value |= (byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) != 0 && shift < 63);
    if ((byte & 0x40) != 0 && shift < 64)
        value |= ~UINT64_C(0) << shift;
    return (int64_t)value;
}

static uint64_t take_encoded(struct bytes *from, uint8_t encoding)
{
    uint64_t place = (uint64_t)(uintptr_t)from->at;
    uint64_t value = 0;
    switch (encoding & ENCODING_FORMAT) {
    case ENCODING_ADDRESS:
    case ENCODING_UDATA8:
    case ENCODING_SDATA8:
        value = rule_take_number(from, 8);
        break;
    case ENCODING_UDATA4:
        value = rule_take_number(from, 4);
        break;
    case ENCODING_SDATA4:
        value = (uint64_t)(int64_t)(int32_t)rule_take_number(from, 4);
        break;
    default:
        from->at = NULL;
        break;
    }
    if ((encoding & ENCODING_BASE) == ENCODING_PCREL)
        value += place;
    else if ((encoding & ENCODING_BASE) != 0)
        from->at = NULL;
    return value;
}

// rule_take_entry is the content of the CIE or FDE that from begins with.
static struct bytes rule_take_entry(struct bytes *from)
{
    uint64_t size = rule_take_number(from, 4);
    const uint8_t *at = size < UINT32_MAX ? take_bytes(from, size) : NULL;
    return (struct bytes){ at, at != NULL ? at + size : NULL };
}

static bool rule_read_augmentation(struct bytes *cie, const char *letters,
                                   struct entry *entry)
{
    struct bytes data;
    if (letters[0] == 0)
        return true;
    if (letters[0] != 'z')
        return false;
    entry->has_augmentation = true;
    size_t size = take_uleb(cie);
    const uint8_t *at = take_bytes(cie, size);
    data = (struct bytes){ at, at != NULL ? at + size : NULL };
    for (const char *letter = letters + 1; *letter != 0; letter++) {
        if (*letter == 'R')
            entry->encoding = (uint8_t)rule_take_number(&data, 1);
        else if (*letter == 'S')
            entry->is_signal = true;
        else if (*letter == 'L')
            (void)rule_take_number(&data, 1);
        else if (*letter == 'P')
            (void)take_encoded(&data, (uint8_t)rule_take_number(&data, 1) &
                                          (ENCODING_FORMAT | ENCODING_PCREL));
        else if (*letter != 'B') // aarch64: which key signs return addresses
            return false;
    }
    return data.at != NULL;
}

static bool rule_read_cie(struct bytes from, struct entry *entry)
{
    struct bytes cie = rule_take_entry(&from);
    if (rule_take_number(&cie, 4) != 0)
        return false;
    uint64_t version = rule_take_number(&cie, 1);
    if (cie.at == NULL || (version != 1 && version != 3))
        return false;
    const char *letters = (const char *)cie.at;
    size_t length = strnlen(letters, (size_t)(cie.end - cie.at));
    (void)take_bytes(&cie, length + 1);
    entry->code_factor = take_uleb(&cie);
    entry->data_factor = take_sleb(&cie);
    uint64_t ra = version == 1 ? rule_take_number(&cie, 1) : take_uleb(&cie);
    if (cie.at == NULL || ra != REGISTER_RA ||
        !rule_read_augmentation(&cie, letters, entry))
        return false;
    entry->initial = cie;
    return cie.at != NULL;
}

static bool read_fde(const struct image *image, const uint8_t *at, uint64_t pc,
                     struct entry *entry)
{
    const uint8_t *end = image->end;
    if (at < image->start || at >= end)
        return false;
    struct bytes from = { at, end };
    struct bytes fde = rule_take_entry(&from);
    const uint8_t *here = fde.at;
    uint64_t distance = rule_take_number(&fde, 4);
    if (fde.at == NULL || distance == 0 || distance > (uint64_t)(here - image->start) ||
        !rule_read_cie((struct bytes){ here - distance, end }, entry))
        return false;
    entry->start = take_encoded(&fde, entry->encoding);
    uint64_t size = take_encoded(&fde, entry->encoding & ENCODING_FORMAT);
    if (entry->has_augmentation)
        (void)take_bytes(&fde, take_uleb(&fde));
    entry->instructions = fde;
    return fde.at != NULL && pc - entry->start < size;
}

// rule_find_entry searches the sorted table of .eh_frame_hdr.
static bool rule_find_entry(const struct image *image, uint64_t pc, struct entry *entry)
{
    const uint8_t *hdr = image->eh_frame;
    if (hdr == NULL)
        return false;
    struct bytes from = { hdr, image->end };
    uint64_t version = rule_take_number(&from, 1);
    uint64_t frame = rule_take_number(&from, 1);
    uint64_t counted = rule_take_number(&from, 1);
    uint64_t table = rule_take_number(&from, 1);
    (void)rule_take_number(&from, 4);
    size_t count = rule_take_number(&from, 4);
    if (from.at == NULL || version != 1 || frame != ENCODING_PCREL_SDATA4 ||
        counted != ENCODING_UDATA4 || table != ENCODING_DATAREL_SDATA4 ||
        count > (size_t)(from.end - from.at) / 8)
        return false;
    const int32_t *rows = (const int32_t *)(const void *)from.at;
    int64_t wanted = (int64_t)(pc - (uint64_t)(uintptr_t)hdr);
    size_t low = 0;
    for (size_t high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (rows[2 * middle] <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low != 0 && read_fde(image, hdr + rows[2 * low - 1], pc, entry);
}

static struct saved *saved_of(struct row *row, uint64_t number)
{
    static __thread struct saved ignored __attribute__((tls_model("initial-exec")));
    return number == REGISTER_RA   ? &row->ra
           : number == REGISTER_FP ? &row->fp
                                   : &ignored;
}

static struct bytes take_block(struct bytes *from)
{
    size_t size = take_uleb(from);
    const uint8_t *at = take_bytes(from, size);
    return (struct bytes){ at, at != NULL ? at + size : NULL };
}

// define_cfa_by_expression knows the one form that compilers use: a realigned frame
// keeps the CFA below its frame pointer.
static void define_cfa_by_expression(struct row *row, struct bytes block)
{
    uint64_t operation = rule_take_number(&block, 1);
    row->cfa_register = operation - OP_BREG0;
    row->cfa_offset = take_sleb(&block);
    row->is_loaded = rule_take_number(&block, 1) == OP_DEREF;
    row->is_other = block.at == NULL || block.at != block.end || !row->is_loaded;
}

// save_by_expression knows the form for the frame pointer of a realigned frame.
static struct saved save_by_expression(struct bytes block)
{
    uint64_t operation = rule_take_number(&block, 1);
    int64_t offset = take_sleb(&block);
    bool is_known = block.at != NULL && block.at == block.end &&
                    operation == OP_BREG0 + REGISTER_FP;
    return (struct saved){ is_known ? SAVED_AT_FP : SAVED_OTHER, offset };
}

struct execution {
    const struct entry *entry;
    struct row row;
    struct row initial;
    struct row remembered[REMEMBERED_MAX];
    size_t depth;
    uint64_t location;
};

static void define_cfa(struct row *row, uint64_t number, int64_t offset)
{
    row->cfa_register = number;
    row->cfa_offset = offset;
    row->is_loaded = false;
    row->is_other = false;
}

static void restore_saved(struct execution *x, uint64_t number)
{
    *saved_of(&x->row, number) = *saved_of(&x->initial, number);
}

// execute_save executes an instruction about one register. False: it is none.
static bool execute_save(struct execution *x, uint8_t op, struct bytes *from)
{
    const int64_t factor = x->entry->data_factor;
    struct saved to = { SAVED_OTHER, 0 };
    uint64_t number;
    if (op < CFA_OFFSET_EXTENDED || op > CFA_VAL_EXPRESSION ||
        (op > CFA_REGISTER && op < CFA_EXPRESSION) || op == CFA_DEF_CFA_SF ||
        op == CFA_DEF_CFA_OFFSET_SF)
        return false;
    number = take_uleb(from);
    switch (op) {
    case CFA_OFFSET_EXTENDED:
        to = (struct saved){ SAVED_AT_CFA, (int64_t)take_uleb(from) * factor };
        break;
    case CFA_OFFSET_EXTENDED_SF:
        to = (struct saved){ SAVED_AT_CFA, take_sleb(from) * factor };
        break;
    case CFA_RESTORE_EXTENDED:
        restore_saved(x, number);
        return true;
    case CFA_UNDEFINED:
        to.kind = SAVED_UNDEFINED;
        break;
    case CFA_SAME_VALUE:
        to.kind = SAVED_SAME;
        break;
    case CFA_EXPRESSION:
        to = save_by_expression(take_block(from));
        break;
    case CFA_VAL_EXPRESSION:
        (void)take_block(from);
        break;
    default: // a register, or a value that is an offset
        (void)take_uleb(from);
        break;
    }
    *saved_of(&x->row, number) = to;
    return true;
}

static void execute_state(struct execution *x, uint8_t op)
{
    if (op == CFA_REMEMBER_STATE && x->depth < REMEMBERED_MAX)
        x->remembered[x->depth++] = x->row;
    else if (op == CFA_RESTORE_STATE && x->depth > 0)
        x->row = x->remembered[--x->depth];
    else
        x->row.is_other = true;
}

// execute_other executes one of the instructions with a zero in the two high bits.
static void execute_other(struct execution *x, uint8_t op, struct bytes *from)
{
    const struct entry *entry = x->entry;
    uint64_t number;
    switch (op) {
    case CFA_SET_LOC:
        x->location = take_encoded(from, entry->encoding);
        return;
    case CFA_ADVANCE_LOC1:
    case CFA_ADVANCE_LOC2:
    case CFA_ADVANCE_LOC4:
        x->location += rule_take_number(from, (size_t)1 << (op - CFA_ADVANCE_LOC1)) *
                       entry->code_factor;
        return;
    case CFA_REMEMBER_STATE:
    case CFA_RESTORE_STATE:
        execute_state(x, op);
        return;
    case CFA_DEF_CFA:
        number = take_uleb(from);
        define_cfa(&x->row, number, (int64_t)take_uleb(from));
        return;
    case CFA_DEF_CFA_SF:
        number = take_uleb(from);
        define_cfa(&x->row, number, take_sleb(from) * entry->data_factor);
        return;
    case CFA_DEF_CFA_REGISTER:
        x->row.cfa_register = take_uleb(from);
        return;
    case CFA_DEF_CFA_OFFSET:
        x->row.cfa_offset = (int64_t)take_uleb(from);
        return;
    case CFA_DEF_CFA_OFFSET_SF:
        x->row.cfa_offset = take_sleb(from) * entry->data_factor;
        return;
    case CFA_DEF_CFA_EXPRESSION:
        define_cfa_by_expression(&x->row, take_block(from));
        return;
    case CFA_ARGS_SIZE:
        (void)take_uleb(from);
        return;
    case 0:
    case CFA_NEGATE_RA_STATE: // return addresses are stripped in any case
        return;
    default:
        x->row.is_other = true;
        from->at = NULL;
        return;
    }
}

// execute runs instructions up to the row of pc.
static bool execute(struct execution *x, struct bytes from, uint64_t pc)
{
    while (from.at != NULL && from.at < from.end && x->location <= pc) {
        uint8_t op = (uint8_t)rule_take_number(&from, 1);
        uint8_t low = op & 0x3f;
        switch (op >> 6) {
        case CFA_ADVANCE_LOC:
            x->location += low * x->entry->code_factor;
            break;
        case CFA_OFFSET:
            *saved_of(&x->row, low) =
                (struct saved){ SAVED_AT_CFA,
                                (int64_t)take_uleb(&from) * x->entry->data_factor };
            break;
        case CFA_RESTORE:
            restore_saved(x, low);
            break;
        default:
            if (!execute_save(x, op, &from))
                execute_other(x, op, &from);
            break;
        }
    }
    return from.at != NULL && !x->row.is_other;
}

// fits returns true if an offset is in words and can be stored in bits.
static bool fits(int64_t offset, unsigned bits, int64_t unit)
{
    int64_t most = ((int64_t)1 << (bits - 1)) - 1;
    return offset % unit == 0 && offset / unit <= most && offset / unit >= -most;
}

static struct frame_rule frame_rule_of(const struct row *row)
{
    enum { WORD = sizeof(uint64_t), WORD_BITS = 16, CFA_BITS = 26 };
    static const struct frame_rule none;
    bool has_sp = row->cfa_register == REGISTER_SP && !row->is_loaded;
    bool has_fp = row->cfa_register == REGISTER_FP;
    if (row->ra.kind == SAVED_UNDEFINED)
        return (struct frame_rule){ .kind = FRAME_RULE_OUTERMOST };
    if ((!has_sp && !has_fp) || row->ra.kind != SAVED_AT_CFA ||
        row->fp.kind == SAVED_OTHER || !fits(row->cfa_offset, CFA_BITS, 1) ||
        !fits(row->ra.offset, WORD_BITS, WORD) ||
        !fits(row->fp.offset, WORD_BITS, WORD))
        return none;
    return (struct frame_rule){
        .kind = FRAME_RULE_CFA,
        .cfa = row->is_loaded ? FRAME_CFA_LOADED
               : has_sp       ? FRAME_CFA_SP
                              : FRAME_CFA_FP,
        .fp = row->fp.kind == SAVED_AT_CFA  ? FRAME_FP_AT_CFA
              : row->fp.kind == SAVED_AT_FP ? FRAME_FP_AT_FP
                                            : FRAME_FP_SAME,
        .cfa_offset = row->cfa_offset,
        .ra_words = row->ra.offset / WORD,
        .fp_words = row->fp.offset / WORD,
    };
}

struct frame_rule frame_rule_find(uint64_t pc, uint64_t *out_function)
{
    struct frame_rule rule = { .kind = FRAME_RULE_NONE };
    struct image image;
    struct entry entry = { .encoding = ENCODING_ADDRESS };
    if (!image_find(pc, &image) || !rule_find_entry(&image, pc, &entry))
        return rule;
    if (out_function != NULL)
        *out_function = entry.start;
    if (entry.is_signal)
        return (struct frame_rule){ .kind = FRAME_RULE_SIGNAL };
    struct execution x = { .entry = &entry };
    if (!execute(&x, entry.initial, UINT64_MAX))
        return rule;
    x.initial = x.row;
    x.location = entry.start;
    return execute(&x, entry.instructions, pc) ? frame_rule_of(&x.row) : rule;
}
