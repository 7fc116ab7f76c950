// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/xray_modes.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct xray_path path;
    struct xray_profile profile;
    struct fdr_record record;
    struct cursor log = cursor_over(bytes, size);
    enum ch_status status;
    do {
        status = xray_basic_next(&log, (uint16_t)(size % 4), &record);
    } while (status == CH_OK || status == CH_ERR_UNSUPPORTED);
    if (xray_profile_init(&profile, bytes, size) == CH_OK) {
        while (xray_profile_next(&profile, &path) == CH_OK)
            ;
    }
    return 0;
}
