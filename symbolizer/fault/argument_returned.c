// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/fault/argument_returned.h"

#include <stdlib.h>
#include <string.h>

#include "symbolizer/arguments/argument_origin.h"
#include "symbolizer/names/demangle.h"
#include "symbolizer/names/plt_stubs.h"

// returned_append appends a name as sources have it. Compilers call functions whose
// names begin with two underscores, which are reserved for them.
static bool returned_append(const char *name, struct text *out)
{
    if (strncmp(name, "__", 2) == 0)
        return false;
    char *plain = demangle_name(name);
    text_append_string(out, plain != NULL ? plain : name);
    free(plain);
    return text_ok(out) && out->size != 0;
}

// returned_append_stub appends the name of the function that a stub jumps to.
static bool returned_append_stub(struct argument_image *image, uint64_t vaddr,
                                 struct text *out)
{
    static const char after[] = "@plt";
    struct plt_stubs stubs = { 0 };
    plt_stubs_read(&stubs, &image->types.files.image, &image->symbols);
    const struct plt_stub *stub = plt_stubs_find(&stubs, vaddr);
    size_t size = stub != NULL && stub->start == vaddr ? strlen(stub->raw_name) : 0;
    bool named = false;
    if (size > strlen(after)) {
        char *name = strndup(stub->raw_name, size - strlen(after));
        named = name != NULL && returned_append(name, out);
        free(name);
    }
    plt_stubs_deinit(&stubs);
    return named;
}

bool argument_returned_name(struct argument_image *image, uint64_t vaddr,
                            struct text *out)
{
    struct argument_symbol symbol;
    Dwarf_Die function;
    Dwarf_Addr entry;
    if (argument_image_symbol(image, vaddr, &symbol))
        return symbol.vaddr == vaddr && returned_append(symbol.name, out);
    if (argument_image_function(image, vaddr, &function) != CH_OK)
        return image->types.files.image.elf != NULL &&
               returned_append_stub(image, vaddr, out);
    const char *name = argument_origin_name(&function);
    return name != NULL && dwarf_entrypc(&function, &entry) == 0 && entry == vaddr &&
           returned_append(name, out);
}
