// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/cbf.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "cli/session/command.h"

// FRAMES_MAX is how many frames `cbf decode` prints: a rep of eight bytes can stand for
// more frames than could ever be printed.
enum { FRAMES_MAX = 1 << 20 };

// printer is the state of one listing.
struct printer {
    bool json;
    uint64_t count; // items printed
};

static void print_separator(struct printer *printer)
{
    if (printer->json)
        fputs(printer->count != 0 ? ",\n" : "\n", stdout);
    printer->count++;
}

static void print_cbf_frame(struct printer *printer, const struct cbf_frame *frame)
{
    const char *kind = cbf_op_name(frame->kind);
    uint64_t number = printer->count;
    print_separator(printer);
    if (frame->kind == CBF_TRUNC)
        printf(printer->json ? "{\"kind\":\"%s\"}" : "      %s\n", kind);
    else if (frame->kind == CBF_OMIT)
        printf(printer->json ? "{\"kind\":\"%s\",\"count\":%" PRIu64 "}"
                             : "      %-5s  %" PRIu64 " frames\n",
               kind, frame->value);
    else if (printer->json)
        printf("{\"kind\":\"%s\",\"address\":\"0x%" PRIx64 "\"}", kind, frame->value);
    else
        printf("%4" PRIu64 "  %-5s  0x%" PRIx64 "\n", number, kind, frame->value);
}

// print_frames prints at most FRAMES_MAX frames. CH_END: these were all.
static enum ch_status print_frames(struct cbf_reader *reader, struct printer *printer,
                                   size_t *out_offset)
{
    for (;;) {
        struct cbf_frame frame;
        *out_offset = reader->offset;
        enum ch_status status = cbf_next_frame(reader, &frame);
        if (status != CH_OK)
            return status;
        for (uint64_t i = 0; i < frame.times; i++) {
            if (printer->count == FRAMES_MAX && frame.kind != CBF_TRUNC)
                return CH_ERR_LIMIT;
            print_cbf_frame(printer, &frame);
        }
    }
}

static void print_instruction(struct printer *printer,
                              const struct cbf_instruction *instruction,
                              const uint8_t *bytes)
{
    char hex[2 * 33 + 1]; // the longest is an omit with 32 bytes
    const char *op = cbf_op_name(instruction->op);
    bool is_address = instruction->op >= CBF_PC && instruction->op <= CBF_ASYNC;
    bool is_count = instruction->op == CBF_OMIT || instruction->op == CBF_REP;
    hex_encode(bytes + instruction->offset, instruction->size, hex);

    print_separator(printer);
    if (printer->json) {
        printf("{\"offset\":%zu,\"op\":\"%s\",\"bytes\":\"%s\"", instruction->offset,
               op, hex);
        if (is_address)
            printf(",\"absolute\":%s,\"value\":\"0x%" PRIx64
                   "\",\"address\":\"0x%" PRIx64 "\"",
                   instruction->absolute ? "true" : "false", instruction->value,
                   instruction->address);
        if (is_count)
            printf(",\"value\":%" PRIu64, instruction->value);
        putchar('}');
        return;
    }
    printf("%6zu  %-18s  %s", instruction->offset, hex, op);
    if (is_address)
        printf(" %s 0x%" PRIx64, instruction->absolute ? "absolute" : "relative",
               instruction->value);
    if (is_count)
        printf(" %" PRIu64, instruction->value);
    putchar('\n');
}

static enum ch_status print_instructions(struct cbf_reader *reader,
                                         struct printer *printer, const uint8_t *bytes,
                                         size_t *out_offset)
{
    for (;;) {
        struct cbf_instruction instruction;
        *out_offset = reader->offset;
        enum ch_status status = cbf_next_instruction(reader, &instruction);
        if (status != CH_OK)
            return status;
        print_instruction(printer, &instruction, bytes);
    }
}

// explain_cbf_status finds out what is wrong at offset, where the decoder stopped.
static int explain_cbf_status(enum ch_status status, const struct text *data,
                              size_t offset)
{
    switch (status) {
    case CH_END:
        return COMMAND_DONE;
    case CH_ERR_LIMIT:
        return command_fail("cbf decode: more than %d frames, at offset %zu",
                            FRAMES_MAX, offset);
    case CH_ERR_TRUNCATED:
        if (data->size == 0)
            return command_fail("cbf decode: there is no data");
        return command_fail("cbf decode: the data ends inside the instruction at "
                            "offset %zu",
                            offset);
    case CH_ERR_MALFORMED:
        return command_fail("cbf decode: rep before any frame, at offset %zu", offset);
    default:
        return command_fail("cbf decode: unknown %s 0x%02x at offset %zu",
                            offset == 0 ? "version or word size in" : "instruction",
                            (uint8_t)data->bytes[offset], offset);
    }
}

static int run_cbf_decode(const struct options *options)
{
    CH_CLEANUP(text_deinit) struct text data = { 0 };
    if (data_argument_read(options->arguments[0], &data) != CH_OK)
        return COMMAND_FAILED;

    struct printer printer = { .json = options_given(options, "json") };
    bool raw = options_given(options, "raw");
    const uint8_t *bytes = (const uint8_t *)data.bytes;
    struct cbf_reader reader;
    size_t offset = 0;
    enum ch_status status = cbf_reader_init(&reader, bytes, data.size);
    if (printer.json)
        printf("{\"version\":%u,\"word_size\":%u,\"%s\":[", reader.version,
               reader.word_bits, raw ? "instructions" : "frames");
    if (status == CH_OK)
        status = raw ? print_instructions(&reader, &printer, bytes, &offset)
                     : print_frames(&reader, &printer, &offset);
    bool complete = status == CH_END && reader.complete;
    if (printer.json)
        printf("%s],\"complete\":%s}\n", printer.count != 0 ? "\n" : "",
               complete ? "true" : "false");
    else if (status == CH_END && !complete)
        fputs("      (the data stops here, without end or trunc)\n", stdout);
    return explain_cbf_status(status, &data, offset);
}

// frame_in is a frame of the input.
struct frame_in {
    enum cbf_op kind;
    uint64_t value;
};

static bool parse_cbf_address(const json_t *json, uint64_t *out)
{
    const char *text = json_string_value(json);
    return text != NULL && command_parse_address(text, out);
}

static bool parse_count(const json_t *json, uint64_t *out)
{
    json_int_t count = json_integer_value(json);
    if (!json_is_integer(json) || count < 0)
        return false;
    *out = (uint64_t)count;
    return true;
}

// parse_frame parses one frame; it returns what is wrong with the frame, or NULL.
static const char *parse_frame(const json_t *json, unsigned word_bits,
                               struct frame_in *out)
{
    const char *kind = json_string_value(json_object_get(json, "kind"));
    if (kind == NULL)
        return "it has no \"kind\"";
    for (enum cbf_op op = CBF_TRUNC; op <= CBF_OMIT; op++) {
        if (strcmp(kind, cbf_op_name(op)) == 0)
            out->kind = op;
    }
    if (out->kind == CBF_END)
        return "its \"kind\" is none of pc, ra, async, omit and trunc";
    if (out->kind == CBF_TRUNC)
        return NULL;
    if (out->kind == CBF_OMIT)
        return parse_count(json_object_get(json, "count"), &out->value)
                   ? NULL
                   : "its \"count\" is no number from 0 on";
    if (!parse_cbf_address(json_object_get(json, "address"), &out->value))
        return "its \"address\" is no \"0x…\"";
    return out->value > UINT64_MAX >> (64 - word_bits)
               ? "its \"address\" does not fit the word size"
               : NULL;
}

static enum ch_status encode_frames(struct cbf_writer *writer, const json_t *frames)
{
    bool truncated = false;
    size_t index;
    json_t *json;
    json_array_foreach(frames, index, json)
    {
        struct frame_in frame = { 0 };
        const char *wrong = parse_frame(json, writer->word_bits, &frame);
        if (wrong == NULL && frame.kind == CBF_OMIT && frame.value == 0 &&
            writer->dialect == CBF_SWIFT_6_2)
            wrong = "Swift cannot omit 0 frames";
        if (wrong == NULL && truncated)
            wrong = "it follows \"trunc\"";
        truncated |= frame.kind == CBF_TRUNC;
        if (wrong != NULL) {
            command_fail("cbf encode: frame %zu: %s", index, wrong);
            return CH_ERR_MALFORMED;
        }
        enum ch_status status = cbf_write_frame(writer, frame.kind, frame.value);
        if (status != CH_OK) {
            command_fail("cbf encode: frame %zu: %s", index, ch_status_name(status));
            return status;
        }
    }
    return CH_OK;
}

// encode_in prints, as a line of hex, the CBF that json describes. bytes has room for
// capacity bytes and, after them, for their hex digits.
static int encode_in(uint8_t *bytes, size_t capacity, unsigned word_bits,
                     enum cbf_dialect dialect, const json_t *json)
{
    struct cbf_writer writer;
    if (cbf_writer_init(&writer, word_bits, dialect, bytes, capacity) != CH_OK)
        return command_fail("cbf encode: no word size of %u bits", word_bits);
    if (encode_frames(&writer, json_object_get(json, "frames")) != CH_OK)
        return COMMAND_FAILED;

    if (json_is_false(json_object_get(json, "complete")))
        cbf_write_stop(&writer);
    else
        cbf_write_end(&writer);
    char *hex = (char *)bytes + capacity;
    hex_encode(bytes, writer.size, hex);
    puts(hex);
    return COMMAND_DONE;
}

static int encode_backtrace(const json_t *json, unsigned word_bits, bool swift)
{
    size_t frame_count = json_array_size(json_object_get(json, "frames"));
    size_t capacity = CBF_OVERHEAD + (frame_count + 1) * CBF_FRAME_MAX;
    uint8_t *bytes = malloc(3 * capacity + 1);
    if (bytes == NULL)
        return command_fail("cbf encode: out of memory");
    int result = encode_in(bytes, capacity, word_bits,
                           swift ? CBF_SWIFT_6_2 : CBF_SPECIFIED, json);
    free(bytes);
    return result;
}

// parse_word_size takes the option, otherwise the input's "word_size", otherwise 64; 0:
// it is not 16, 32 or 64.
static unsigned parse_word_size(const char *option, const json_t *json)
{
    const json_t *member = json_object_get(json, "word_size");
    json_int_t bits = member == NULL ? 64 : json_integer_value(member);
    if (option != NULL) {
        char *end;
        bits = strtol(option, &end, 10);
        bits = *end == 0 ? bits : 0;
    }
    return bits == 16 || bits == 32 || bits == 64 ? (unsigned)bits : 0;
}

static int run_cbf_encode(const struct options *options)
{
    const char *option = options_value(options, "word-size");
    if (option != NULL && parse_word_size(option, NULL) == 0)
        return command_misused("cbf encode: --word-size '%s': it is 16, 32 or 64",
                               option);
    json_auto_t *json = NULL;
    if (command_read_json("-", &json) != CH_OK)
        return COMMAND_FAILED;
    if (!json_is_array(json_object_get(json, "frames")))
        return command_fail("cbf encode: stdin has no \"frames\"");
    if (json_integer_value(json_object_get(json, "version")) != 0)
        return command_fail("cbf encode: \"version\" is not 0");
    unsigned word_bits = parse_word_size(option, json);
    if (word_bits == 0)
        return command_fail("cbf encode: \"word_size\" is none of 16, 32 and 64");
    return encode_backtrace(json, word_bits, options_given(options, "swift"));
}

static const struct option decode_options[] = {
    { "json", NULL, "print JSON", 0 },
    { "raw", NULL, "print instructions as they stand there, not frames", 0 },
    { 0 },
};

const struct command cbf_decode_command = {
    .name = "cbf decode",
    .arguments = "HEX|FILE|-",
    .summary = "Print the frames of a backtrace in Compact Backtrace Format",
    .options = decode_options,
    .run = run_cbf_decode,
    .arguments_min = 1,
    .arguments_max = 1,
};

static const struct option encode_options[] = {
    { "word-size", "16|32|64", "instead of the input's \"word_size\"", 0 },
    { "swift", NULL, "write byte for byte what Swift 6.2 writes", 0 },
    { 0 },
};

const struct command cbf_encode_command = {
    .name = "cbf encode",
    .summary = "Read frames as JSON on stdin and print them in that format as hex",
    .options = encode_options,
    .run = run_cbf_encode,
};
