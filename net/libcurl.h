// SPDX-License-Identifier: Apache-2.0
//
// libcurl, loaded when the first request is made. It depends on some thirty libraries,
// and loading them takes longer than most commands run: a process that sends nothing
// starts without them. It also lets a machine without libcurl do everything except
// send.
//
// The table holds the functions that http.c and message.c call, under their names
// without `curl_`. A static program (CRASHHOOK_STATIC) links libcurl.
#pragma once
#include <stddef.h>

#include <curl/curl.h>

#include "base/status.h"

struct libcurl {
    __typeof__(curl_global_init) *global_init;
    __typeof__(curl_easy_init) *easy_init;
    __typeof__(curl_easy_reset) *easy_reset;
    __typeof__(curl_easy_setopt) *easy_setopt;
    __typeof__(curl_easy_perform) *easy_perform;
    __typeof__(curl_easy_getinfo) *easy_getinfo;
    __typeof__(curl_easy_strerror) *easy_strerror;
    __typeof__(curl_easy_cleanup) *easy_cleanup;
    __typeof__(curl_slist_append) *slist_append;
    __typeof__(curl_slist_free_all) *slist_free_all;
    __typeof__(curl_getdate) *getdate;
};

// libcurl_load loads libcurl for the rest of the process and stores its functions;
// later calls cost nothing. CH_ERR_UNSUPPORTED: it is not installed, or lacks one of
// the functions; why says which.
CH_CHECKED enum ch_status libcurl_load(const struct libcurl **out, char *why,
                                       size_t size);

// libcurl_authorities returns the file of the system's certificate authorities where
// libcurl is linked statically. NULL: libcurl knows, or the system has none.
const char *libcurl_authorities(void);
