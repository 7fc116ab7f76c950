// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "cli/render/pen.h"
#include "cli/session/command.h"
#include "formats/interchange/image_map.h"

static void print_build_id(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        printf("%02x", bytes[i]);
}

static void print_json(const struct image_map_image *image)
{
    fputs("{\"path\":", stdout);
    if (image->path != NULL)
        json_print_string(image->path, image->path_size);
    else
        fputs("null", stdout);
    fputs(",\"build_id\":", stdout);
    if (image->build_id != NULL) {
        putchar('"');
        print_build_id(image->build_id, image->build_id_size);
        putchar('"');
    } else {
        fputs("null", stdout);
    }
    printf(",\"base\":\"0x%" PRIx64 "\",\"end_of_text\":\"0x%" PRIx64 "\"}",
           image->base, image->end_of_text);
}

static void print_text(const struct image_map_image *image)
{
    printf("0x%012" PRIx64 "-0x%012" PRIx64 "  ", image->base, image->end_of_text);
    if (image->build_id != NULL)
        print_build_id(image->build_id, image->build_id_size);
    else
        fputs("-", stdout);
    if (image->path != NULL) {
        const struct pen pen = { .to = stdout };
        fputs("  ", stdout);
        pen_bytes(&pen, image->path, image->path_size);
        putchar('\n');
    } else {
        fputs("  (path not known)\n", stdout);
    }
}

static void print_platform(const struct image_map_reader *reader)
{
    const struct pen pen = { .to = stdout };
    fputs("platform: ", stdout);
    pen_bytes(&pen, reader->platform, reader->platform_size);
    putchar('\n');
}

static enum ch_status print_images(struct image_map_reader *reader, bool json)
{
    for (size_t count = 0;; count++) {
        struct image_map_image image;
        enum ch_status status = image_map_next(reader, &image);
        if (status != CH_OK)
            return status;
        if (json) {
            fputs(count != 0 ? ",\n" : "\n", stdout);
            print_json(&image);
        } else {
            print_text(&image);
        }
    }
}

static int explain_image_status(enum ch_status status,
                                const struct image_map_reader *reader)
{
    size_t offset = cursor_offset(&reader->input);
    switch (status) {
    case CH_END:
        return COMMAND_DONE;
    case CH_ERR_TRUNCATED:
        return command_fail("images decode: the data ends inside what begins at offset "
                            "%zu",
                            offset);
    case CH_ERR_UNSUPPORTED:
        return command_fail("images decode: unknown version or word size at offset 0");
    default:
        return command_fail("images decode: %s at offset %zu", ch_status_name(status),
                            offset);
    }
}

static int run_images_decode(const struct options *options)
{
    CH_CLEANUP(text_deinit) struct text data = { 0 };
    if (data_argument_read(options->arguments[0], &data) != CH_OK)
        return COMMAND_FAILED;

    bool json = options_given(options, "json");
    CH_CLEANUP(image_map_reader_deinit) struct image_map_reader reader;
    enum ch_status status = image_map_reader_init(&reader, data.bytes, data.size);
    if (json) {
        printf("{\"version\":%u,\"word_size\":%u,\"platform\":", reader.version,
               reader.word_bits);
        json_print_string(reader.platform, reader.platform_size);
        fputs(",\"images\":[", stdout);
    } else if (status == CH_OK) {
        print_platform(&reader);
    }
    if (status == CH_OK)
        status = print_images(&reader, json);
    if (json)
        printf("\n],\"complete\":%s}\n", status == CH_END ? "true" : "false");
    return explain_image_status(status, &reader);
}

static bool parse_image_address(const json_t *json, uint64_t *out)
{
    const char *text = json_string_value(json);
    return text != NULL && command_parse_address(text, out);
}

// BUILD_ID_MAX limits a build ID in JSON, in bytes.
enum { BUILD_ID_MAX = 4096 };

// parse_image parses one image; it returns what is wrong with the image, or NULL.
// build_id is where the bytes of its build ID go.
static const char *parse_image(const json_t *json, unsigned word_bits,
                               uint8_t build_id[BUILD_ID_MAX],
                               struct image_map_image *out)
{
    const json_t *path = json_object_get(json, "path");
    const char *hex = json_string_value(json_object_get(json, "build_id"));
    *out = (struct image_map_image){ .path = json_string_value(path),
                                     .path_size = json_string_length(path),
                                     .build_id = build_id };
    if (hex != NULL && hex_decode(hex, strlen(hex), build_id, BUILD_ID_MAX,
                                  &out->build_id_size) != CH_OK)
        return "its \"build_id\" is not hex";
    if (!parse_image_address(json_object_get(json, "base"), &out->base))
        return "its \"base\" is no \"0x…\"";
    if (!parse_image_address(json_object_get(json, "end_of_text"), &out->end_of_text))
        return "its \"end_of_text\" is no \"0x…\"";
    if ((out->base | out->end_of_text) > UINT64_MAX >> (64 - word_bits))
        return "an address does not fit the word size";
    return out->end_of_text < out->base ? "it ends before its \"base\"" : NULL;
}

static enum ch_status encode_images(struct image_map_writer *writer, const json_t *list)
{
    size_t index;
    json_t *json;
    json_array_foreach(list, index, json)
    {
        uint8_t build_id[BUILD_ID_MAX];
        struct image_map_image image;
        const char *wrong = parse_image(json, writer->word_bits, build_id, &image);
        enum ch_status status = CH_ERR_MALFORMED;
        if (wrong == NULL)
            status = image_map_write(writer, &image);
        if (status == CH_OK)
            continue;
        command_fail("images encode: image %zu: %s", index,
                     wrong != NULL ? wrong : ch_status_name(status));
        return status;
    }
    return CH_OK;
}

static int encode_map(const json_t *json)
{
    const json_t *list = json_object_get(json, "images");
    const json_t *word_size = json_object_get(json, "word_size");
    const char *platform = json_string_value(json_object_get(json, "platform"));
    json_int_t word_bits = word_size == NULL ? 64 : json_integer_value(word_size);

    CH_CLEANUP(text_deinit) struct text out = { 0 };
    CH_CLEANUP(image_map_writer_deinit) struct image_map_writer writer;
    enum ch_status status =
        image_map_writer_init(&writer, &out, (unsigned)word_bits,
                              platform != NULL ? platform : "", json_array_size(list));
    if (status == CH_ERR_UNSUPPORTED)
        return command_fail("images encode: \"word_size\" is none of 16, 32 and 64");
    if (status == CH_ERR_LIMIT)
        return command_fail("images encode: \"platform\" is longer than 255 bytes");
    if (status != CH_OK)
        return command_fail("images encode: %s", ch_status_name(status));
    if (encode_images(&writer, list) != CH_OK)
        return COMMAND_FAILED;
    print_build_id((const uint8_t *)out.bytes, out.size);
    putchar('\n');
    return COMMAND_DONE;
}

static int run_images_encode(const struct options *options)
{
    (void)options;
    json_auto_t *json = NULL;
    if (command_read_json("-", &json) != CH_OK)
        return COMMAND_FAILED;
    if (!json_is_array(json_object_get(json, "images")))
        return command_fail("images encode: stdin has no \"images\"");
    if (json_integer_value(json_object_get(json, "version")) != 0)
        return command_fail("images encode: \"version\" is not 0");
    return encode_map(json);
}

static const struct option decode_options[] = {
    { "json", NULL, "print JSON", 0 },
    { 0 },
};

const struct command images_decode_command = {
    .name = "images decode",
    .arguments = "HEX|FILE|-",
    .summary = "Print the images of a Compact Image Map",
    .options = decode_options,
    .run = run_images_decode,
    .arguments_min = 1,
    .arguments_max = 1,
};

const struct command images_encode_command = {
    .name = "images encode",
    .summary = "Read images as JSON on stdin and print them as such a map in hex",
    .run = run_images_encode,
};
