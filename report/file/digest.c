// SPDX-License-Identifier: Apache-2.0
#include "report/file/digest.h"

#include <string.h>

#include <nettle/hmac.h>

#include "base/hex.h"

void sha256_finish_hex(struct sha256_ctx *sha, char out[static SHA256_HEX_SIZE])
{
    uint8_t sum[SHA256_SIZE];
    sha256_digest(sha, sizeof(sum), sum);
    hex_encode(sum, sizeof(sum), out);
}

void sha256_hex(const void *bytes, size_t size, char out[static SHA256_HEX_SIZE])
{
    struct sha256_ctx sha;
    sha256_init(&sha);
    sha256_update(&sha, size, bytes);
    sha256_finish_hex(&sha, out);
}

void sha256_hmac(const char *secret, const void *bytes, size_t size,
                 uint8_t out[static SHA256_SIZE])
{
    struct hmac_sha256_ctx hmac;
    hmac_sha256_set_key(&hmac, strlen(secret), (const uint8_t *)secret);
    hmac_sha256_update(&hmac, size, bytes);
    hmac_sha256_digest(&hmac, SHA256_SIZE, out);
}
