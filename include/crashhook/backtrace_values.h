// SPDX-License-Identifier: Apache-2.0
//
// The parts of a backtrace: addresses, frames, images. crashhook/backtrace.h includes
// this and says how backtraces are made.
//
// Functions that can fail return 0 or an errno value. The caller frees strings returned
// as `char *`, with free(); NULL: no memory. A `const char *` is borrowed from the
// value that returned it. Nothing here may be called from a signal handler.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef CRASHHOOK_API
#define CRASHHOOK_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

// A crashhook_address is an address of some process, on some machine. It is not a
// pointer. Its members are private: use the functions below.
struct crashhook_address {
    uint64_t bits;
    uint32_t width;
};

// crashhook_address_make makes an address with a width of 16, 32 or 64 bits; value is
// truncated to the width. Any other width gives the null address of width 0.
CRASHHOOK_API struct crashhook_address crashhook_address_make(uint64_t value,
                                                              unsigned width);

// crashhook_address_bit_width is the width of the address in bits.
CRASHHOOK_API unsigned crashhook_address_bit_width(struct crashhook_address address);

// crashhook_address_is_null is true for address 0 of any width.
CRASHHOOK_API bool crashhook_address_is_null(struct crashhook_address address);

// crashhook_address_to_u16, _to_u32 and _to_u64 store the address as a number. ERANGE:
// addresses of its width do not fit, whatever its value is.
CRASHHOOK_API int crashhook_address_to_u16(struct crashhook_address address,
                                           uint16_t *out);
CRASHHOOK_API int crashhook_address_to_u32(struct crashhook_address address,
                                           uint32_t *out);
CRASHHOOK_API int crashhook_address_to_u64(struct crashhook_address address,
                                           uint64_t *out);

// crashhook_address_compare is negative, 0 or positive, like memcmp: it compares by
// value, then by width.
CRASHHOOK_API int crashhook_address_compare(struct crashhook_address a,
                                            struct crashhook_address b);

// crashhook_address_hash is equal for equal addresses.
CRASHHOOK_API uint64_t crashhook_address_hash(struct crashhook_address address);

// CRASHHOOK_ADDRESS_TEXT is the size of an address as text, NUL included.
enum { CRASHHOOK_ADDRESS_TEXT = 19 };

// crashhook_address_format writes the address with all digits of its width:
// "0x00007f0012345678". It returns text.
CRASHHOOK_API char *crashhook_address_format(struct crashhook_address address,
                                             char text[CRASHHOOK_ADDRESS_TEXT]);

// crashhook_address_parse reads what crashhook_address_format wrote: the number of
// digits (4, 8 or 16) gives the width. EINVAL: it is something else.
CRASHHOOK_API int crashhook_address_parse(const char *text,
                                          struct crashhook_address *out);

// crashhook_frame_kind is what a frame is.
enum crashhook_frame_kind {
    CRASHHOOK_FRAME_PROGRAM_COUNTER,    // interrupted or stopped exactly here
    CRASHHOOK_FRAME_RETURN_ADDRESS,     // a call returns here
    CRASHHOOK_FRAME_ASYNC_RESUME_POINT, // a suspended coroutine resumes here
    CRASHHOOK_FRAME_OMITTED,            // a known number of frames was left out
    CRASHHOOK_FRAME_TRUNCATED,          // more frames, how many is not known: the last
};

// A crashhook_frame is one frame, or stands for frames that were left out.
struct crashhook_frame {
    enum crashhook_frame_kind kind;
    struct crashhook_address address; // null for the kinds that stand for others
    uint64_t omitted;                 // CRASHHOOK_FRAME_OMITTED: how many
};

// crashhook_frame_original_program_counter gives the address as captured; the null
// address where frames were left out.
CRASHHOOK_API struct crashhook_address
crashhook_frame_original_program_counter(const struct crashhook_frame *frame);

// crashhook_frame_adjusted_program_counter gives the address for looking up names: one
// before a return address, so that it lies in the call.
CRASHHOOK_API struct crashhook_address
crashhook_frame_adjusted_program_counter(const struct crashhook_frame *frame);

// crashhook_frame_description gives the frame as one line: "0x0000000000401136 [ra]".
CRASHHOOK_API char *crashhook_frame_description(const struct crashhook_frame *frame);

// A crashhook_image is a program, a library or the vDSO as loaded in a process. It
// belongs to its crashhook_images.
struct crashhook_image;

// crashhook_image_name gives the last component of its path; NULL: not known.
CRASHHOOK_API const char *crashhook_image_name(const struct crashhook_image *image);

// crashhook_image_path gives the path it was mapped from; NULL: not known.
CRASHHOOK_API const char *crashhook_image_path(const struct crashhook_image *image);

// crashhook_image_unique_id gives its build ID of *out_size bytes; NULL: it has none.
CRASHHOOK_API const uint8_t *
crashhook_image_unique_id(const struct crashhook_image *image, size_t *out_size);

// crashhook_image_base_address is where its lowest mapping begins.
CRASHHOOK_API struct crashhook_address
crashhook_image_base_address(const struct crashhook_image *image);

// crashhook_image_end_of_text is where its last executable mapping ends.
CRASHHOOK_API struct crashhook_address
crashhook_image_end_of_text(const struct crashhook_image *image);

// crashhook_image_description gives the image as one line: its range, build ID, name,
// path.
CRASHHOOK_API char *crashhook_image_description(const struct crashhook_image *image);

// crashhook_images are the images of one process at one time, by base address. The list
// never changes and is reference-counted: every owner of a reference releases it.
struct crashhook_images;

// crashhook_images_capture lists the images of the calling process that the dynamic
// linker has loaded, but not those of other namespaces (dlmopen). ENOMEM.
CRASHHOOK_API int crashhook_images_capture(struct crashhook_images **out);

// crashhook_images_retain takes another reference, to be released too, and returns
// images.
CRASHHOOK_API struct crashhook_images *
crashhook_images_retain(struct crashhook_images *images);

// crashhook_images_release drops a reference; images may be NULL.
CRASHHOOK_API void crashhook_images_release(struct crashhook_images *images);

// crashhook_images_count is the number of images.
CRASHHOOK_API size_t crashhook_images_count(const struct crashhook_images *images);

// crashhook_images_at gives image index; NULL: there are fewer.
CRASHHOOK_API const struct crashhook_image *
crashhook_images_at(const struct crashhook_images *images, size_t index);

// crashhook_images_find stores the index of the image whose text contains address.
// ENOENT: none does.
CRASHHOOK_API int crashhook_images_find(const struct crashhook_images *images,
                                        struct crashhook_address address,
                                        size_t *out_index);

#ifdef __cplusplus
}
#endif
