// SPDX-License-Identifier: Apache-2.0
//
// libcurl in a static program, which cannot load a library.
#include <unistd.h>

#include "net/libcurl.h"

enum ch_status libcurl_load(const struct libcurl **out, char *why, size_t size)
{
    static const struct libcurl functions = {
        .global_init = curl_global_init,
        .easy_init = curl_easy_init,
        .easy_reset = curl_easy_reset,
        .easy_setopt = curl_easy_setopt,
        .easy_perform = curl_easy_perform,
        .easy_getinfo = curl_easy_getinfo,
        .easy_strerror = curl_easy_strerror,
        .easy_cleanup = curl_easy_cleanup,
        .slist_append = curl_slist_append,
        .slist_free_all = curl_slist_free_all,
        .getdate = curl_getdate,
    };
    (void)why;
    (void)size;
    *out = &functions;
    return CH_OK;
}

const char *libcurl_authorities(void)
{
    static const char *const bundles[] = {
        "/etc/ssl/certs/ca-certificates.crt", // Debian, Arch, Alpine
        "/etc/pki/tls/certs/ca-bundle.crt",   // Fedora, RHEL
        "/etc/ssl/ca-bundle.pem",             // openSUSE
        "/etc/ssl/cert.pem",
    };
    for (size_t i = 0; i < sizeof(bundles) / sizeof(bundles[0]); i++)
        if (access(bundles[i], R_OK) == 0)
            return bundles[i];
    return NULL;
}
