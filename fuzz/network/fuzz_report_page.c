// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "collector/entry/entry_marks.h"
#include "collector/pages/page_sections.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct viewed_report viewed = { .title = "<script>", .group = "0123456789" };
    struct report_error error;
    struct entry entry;
    struct text page = { 0 };
    if (report_parse((const char *)bytes, size, &viewed.opened.json, &error) != CH_OK ||
        entry_from_report(viewed.opened.json, 0, &entry) != CH_OK)
        page.failed = true;
    else {
        entry_marks_from_report(viewed.opened.json, &entry);
        page_report_write(&page, &viewed, entry.id, "http://host", true);
    }
    if (page.size != 0 && strstr(page.bytes, "<script") != NULL)
        abort(); // no value of a report may become markup
    text_deinit(&page);
    json_decref(viewed.opened.json);
    return 0;
}
