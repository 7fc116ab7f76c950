// SPDX-License-Identifier: Apache-2.0
//
// The functions of libcrashhook as Go calls them: linked with -DCRASHHOOK_LINK, else
// loaded once by library_load, which returns 0 where that is not possible.
#pragma once
#include <stddef.h>

int library_load(void);
int library_install(char **members, int count);
int library_set_tag(const char *name, const char *value);
int library_set_data(const char *name, const char *value);
void library_breadcrumb(const char *message);
int library_attach_file(const char *path, size_t tail_bytes);
int library_report_now(const char *why);
