// SPDX-License-Identifier: Apache-2.0
//
// Answers of a collector and of a bucket; the first byte chooses the status.
#include <string.h>

#include "fuzz/fuzz.h"
#include "net/s3.h"
#include "upload/bodies/protobuf_json.h"
#include "upload/protocol.h"

static void visit_object(void *context, const struct s3_object *object)
{
    size_t *sum = context;
    *sum += strlen(object->name) + strlen(object->changed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const int statuses[] = { 200, 201, 400, 401, 413, 429, 500, 503 };
    const struct s3 bucket = { .prefix = "objects/" };
    struct http_reply reply = { .retry_after_s = -1 };
    struct verdict verdict;
    char next[S3_NAME_SIZE];
    size_t sum = 0;
    if (size == 0)
        return 0;
    reply.status = statuses[bytes[0] % (sizeof(statuses) / sizeof(statuses[0]))];
    text_append(&reply.body, bytes + 1, size - 1);
    collector_judge(&reply, "0190163d-8694-739b-aea5-966c26f8ad91", &verdict);
    json_decref(otlp_protobuf_response(bytes + 1, size - 1));
    json_decref(otlp_protobuf_status(bytes + 1, size - 1));
    if (reply.body.bytes != NULL)
        s3_list_page(&bucket, reply.body.bytes, visit_object, &sum, next);
    text_deinit(&reply.body);
    return 0;
}
