// SPDX-License-Identifier: Apache-2.0
//
// The layouts that are known: a table for each library, which ends with a row without a
// name. The first row that fits a type is taken.
#pragma once
#include "symbolizer/values/layout.h"

extern const struct layout_row layout_cxx[];    // libstdc++
extern const struct layout_row layout_libcxx[]; // LLVM's
extern const struct layout_row layout_rust[];
extern const struct layout_row layout_go[];
extern const struct layout_row layout_qt[];
extern const struct layout_row layout_glib[];
extern const struct layout_row layout_other[];

extern const struct layout_row *const layout_tables[]; // all of them, and NULL

// These read texts, as layout_read_text does.
layout_read_fn layout_cxx_read_shared_string;
layout_read_fn layout_libcxx_read_string;
layout_read_fn layout_qt_read_string;

// These read objects of either library of C++.
layout_read_fn layout_cxx_read_any;
layout_read_fn layout_cxx_read_mutex;
layout_read_fn layout_cxx_read_thread;

// layout_cxx_leave_out_list_end shows no element of an iterator that may be the end()
// of a list of either library: after the list's own node is the number of the others.
void layout_cxx_leave_out_list_end(const struct layout_object *object,
                                   struct layout_view *out);

// layout_libcxx_read_function needs what reading functions of libstdc++ needs.
layout_read_fn layout_libcxx_read_function;

// layout_read_sds reads a string of the type sds, a pointer to its characters, before
// which its size is. False: the object is no such string, or its size is none.
bool layout_read_sds(struct layout_object *object, struct layout_view *out);

// layout_find_message finds the row of a message of Protocol Buffers, which is known by
// its base class, and its members. False: the type is none.
bool layout_find_message(struct layout_object *object);

// layout_go_named finds the row of a string or a slice of Go whose type has a name,
// which has its package and a dot. False: the type is none.
bool layout_go_named(struct layout_object *object);

// layout_rust_enum finds the row of an enum of Rust. False: the type is none.
bool layout_rust_enum(struct layout_object *object);

// layout_table_find finds the row of the object's type and its members. False: it has
// none.
bool layout_table_find(struct layout_object *object);

// layout_table_is_handle returns true if an object of a type of that name is what a
// pointer to it is shown as.
bool layout_table_is_handle(const char *name);

// layout_table_read finds what an object holds, of which layout_table_find found the
// row. False: that is not known, and the object is to be shown by its members.
bool layout_table_read(struct layout_object *object, struct layout_view *out);

// layout_table_row_is_text returns true if objects of the row hold text.
bool layout_table_row_is_text(const struct layout_row *row);

// layout_table_is_text returns true if objects of the type do.
bool layout_table_is_text(const struct type_table *table, uint32_t type);

// layout_is_contiguous returns true if objects of the row have their elements side by
// side, from where the row's first member points to.
bool layout_is_contiguous(const struct layout_row *row);
