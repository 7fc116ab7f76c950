// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/pages.h"

void page_failure(struct http_request *request)
{
    struct text *body = &request->answer.body;
    struct text page = { 0 };
    char title[32];
    if (request->answer.status == 401) {
        text_clear(body);
        page_login_write(body, request->path,
                         "This collector asks for a token to show its reports.");
        return;
    }
    snprintf(title, sizeof(title), "%u", request->answer.status);
    page_begin(&page, title, title);
    html_write(&page,
               "<section class=\"hero\"><p class=\"kicker\">%s</p><h1 "
               "class=\"sentence\">%s</h1>"
               "<p><a href=\"/\">All groups</a></p></section>",
               title, text_string(body));
    page_end(&page);
    text_deinit(body);
    *body = page;
}
