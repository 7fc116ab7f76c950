// SPDX-License-Identifier: Apache-2.0
//
// What an object of a library's type holds: the elements of a vector, the pairs of a
// map, the text of a string, the object that a smart pointer leads to.
//
// A layout is a row of a table (layout_table.h): how the type's name
// begins, the paths of the members that it has to have, and a function that finds the
// contents. A type with the name and without the members has another layout, or is a
// class of the program's own, and is shown by its members.
//
// The memory is that of a crashed process. Counts are compared with what the links say,
// every link is checked against the one that leads back where there is one, and walks
// are bounded. What contradicts itself is said to be damaged; what was not copied is
// said to be missing.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "base/text.h"
#include "report/file/held_file.h"
#include "symbolizer/types/type_dwarf.h"
#include "symbolizer/values/type_scalar.h"

enum {
    LAYOUT_ITEMS = 8,      // shown of a container
    LAYOUT_MEMBERS = 6,    // that a row names
    LAYOUT_WALK = 4096,    // nodes that are counted where no member has the number
    LAYOUT_WORD = 96,      // bytes of a word
    LAYOUT_WORK = 1 << 14, // members that are looked at for one object
};

enum layout_form {
    LAYOUT_SEQUENCE, // its items are elements
    LAYOUT_PAIRS,    // its items have keys
    LAYOUT_TEXT,     // size bytes or wider characters at address
    LAYOUT_INSIDE,   // it is shown as its one item, without a name of its own
    LAYOUT_POINTER,  // it leads to its one item, at address
    LAYOUT_CHOICE,   // it holds its one item, or none
    LAYOUT_WORDS,    // it is shown as word
};

struct layout_item {
    struct type_place key;
    struct type_place value;
};

// A layout_view is what an object holds.
struct layout_view {
    enum layout_form form;
    const char *kind;   // "vector"
    uint64_t size;      // items in all, or characters
    bool at_least;      // there may be more than size
    bool no_size;       // size is not known
    uint64_t address;   // of a text, or what a pointer has
    uint8_t width;      // bytes of a character
    bool missing;       // memory was not copied
    bool sparse;        // members that are zero or empty are not set
    const char *damage; // what contradicts itself; NULL: nothing
    const char *choice; // the name of the variant that is held; NULL: none
    int64_t index;      // of the variant that is held; negative: none
    int64_t owners;     // of a shared object; negative: not known
    struct layout_item items[LAYOUT_ITEMS];
    size_t item_count;
    char word[LAYOUT_WORD];
};

// A layout_member is where a member of the object is.
struct layout_member {
    uint32_t type; // TYPE_UNKNOWN_INDEX: the object lacks it
    uint64_t offset;
};

struct layout_row;

// A layout_image is where the code and the constants of the object's program are.
struct layout_image {
    uint64_t bias; // address - vaddr
    // find_function finds the entry of the function at an address. False: there is
    // none.
    bool (*find_function)(void *context, uint64_t address, Dwarf_Die *out);
    void *context;
};

// A layout_object is an object and what reading it needs.
struct layout_object {
    const struct type_table *table;
    struct type_dwarf *dwarf; // reads types of which the table has the name; NULL: none
    const struct memory_reader *memory;
    const struct held_file *held;     // knows what was mapped; NULL: that is not known
    const struct layout_image *image; // NULL: not known
    uint32_t work;                    // members that were looked at
    uint32_t type;                    // without typedefs and qualifiers
    uint64_t address;
    const struct layout_row *row;
    struct layout_member members[LAYOUT_MEMBERS];
};

typedef void layout_read_fn(struct layout_object *object, struct layout_view *out);

// A layout_row is one layout of one library's type.
struct layout_row {
    const char *name; // how the type's name begins
    const char *kind;
    layout_read_fn *read;
    // Members that it needs, as in "_M_impl._M_start". One that begins with ? may be
    // missing. Bases and unnamed members are searched without being named.
    const char *paths[LAYOUT_MEMBERS];
};

// layout_read_characters appends the text of a view to out as UTF-8, up to limit bytes,
// and gives how many of its characters, or halves of such, it read.
uint64_t layout_read_characters(const struct memory_reader *memory,
                                const struct layout_view *view, size_t limit,
                                struct text *out);

// layout_fits finds the members that row names in the object's type. False: it has
// another name, or lacks one.
bool layout_fits(struct layout_object *object, const struct layout_row *row);

// layout_member_of finds a member of a type by its path. False: it has none.
bool layout_member_of(struct layout_object *object, uint32_t type, const char *path,
                      struct layout_member *out);

// layout_argument is the type that is an argument of a template, or
// TYPE_UNKNOWN_INDEX; layout_argument_value is the number that one is.
uint32_t layout_argument(const struct layout_object *object, uint32_t type,
                         uint32_t index);
int64_t layout_argument_value(const struct layout_object *object, uint32_t type,
                              uint32_t index);

// layout_target is the type that a type points to, layout_element that of an array's
// elements; layout_size is 0 if a type has none.
uint32_t layout_target(const struct layout_object *object, uint32_t type);
uint32_t layout_element(const struct layout_object *object, uint32_t type);
uint64_t layout_size(struct layout_object *object, uint32_t type);

// layout_after is the first offset from offset on where an object of the type may be.
uint64_t layout_after(struct layout_object *object, uint64_t offset, uint32_t type);

// layout_word reads a word of the target, layout_number one of size bytes. False: it
// cannot be read, and out says so.
bool layout_word(const struct layout_object *object, uint64_t address, uint64_t *word,
                 struct layout_view *out);
bool layout_number(const struct layout_object *object, uint64_t address, uint64_t size,
                   uint64_t *number, struct layout_view *out);

// layout_field reads the member that a row names at index, of the object.
bool layout_field(const struct layout_object *object, size_t index, uint64_t *number,
                  struct layout_view *out);

// layout_add adds an element. False: enough are shown.
bool layout_add(struct layout_view *out, uint32_t type, uint64_t address);

// layout_add_key adds a key and its value, if there are not enough yet.
void layout_add_key(struct layout_view *out, uint32_t key_type, uint64_t key,
                    uint32_t value_type, uint64_t value);

// layout_add_pair adds what a container has: of a map a pair of the type, which has
// first and second, or __0 and __1.
bool layout_add_pair(struct layout_object *object, struct layout_view *out,
                     uint32_t type, uint64_t address);

// layout_elements adds the elements of size elements of the type at address.
void layout_elements(struct layout_object *object, struct layout_view *out,
                     uint32_t type, uint64_t address, uint64_t size);

// layout_bits makes the word of size bits, from bit number first of those at address.
void layout_bits(struct layout_object *object, struct layout_view *out,
                 uint64_t address, uint64_t first, uint64_t size);

// layout_choose shows the alternative of that index of a variant, whose types are the
// arguments of the object's template and whose bytes the row names second.
void layout_choose(struct layout_object *object, uint64_t index,
                   struct layout_view *out);

// layout_past_end makes the view one of an iterator that is past the last element.
void layout_past_end(struct layout_view *out);

// layout_damage notes what contradicts itself.
void layout_damage(struct layout_view *out, const char *what);

// Readers that several libraries' types share.
layout_read_fn layout_read_inside;   // the member at 0
layout_read_fn layout_read_range;    // pointers to the first element and past the last
layout_read_fn layout_read_counted;  // a pointer to the first element, their number
layout_read_fn layout_read_text;     // a pointer to the text, its size
layout_read_fn layout_read_pointer;  // a pointer
layout_read_fn layout_read_tuple;    // the object's bases have the elements
layout_read_fn layout_read_optional; // a value, and that it is there
layout_read_fn layout_read_bit_set;  // the words of bits; their number is an argument
layout_read_fn layout_read_duration; // a number of periods, which are an argument
