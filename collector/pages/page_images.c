// SPDX-License-Identifier: Apache-2.0
#include "collector/pages/page_sections.h"

#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/symbols/symbol_store.h"
#include "report/value/report.h"

enum { IMAGES_SHOWN = 400 };

// write_sent marks what was uploaded of a build.
static void write_sent(struct text *out, const struct viewed_report *viewed,
                       const char *build_id)
{
    struct symbol_store *symbols = viewed->symbols;
    if (symbols == NULL || build_id == NULL)
        return;
    if (symbol_store_has(symbols, viewed->project, SYMBOL_DEBUG_FILE, build_id))
        html_write(out, "<span class=\"mark\" title=\"Its debug file was sent to this"
                        " collector\">debug file</span>");
    if (symbol_store_has(symbols, viewed->project, SYMBOL_SOURCES, build_id))
        html_write(out, "<span class=\"mark\" title=\"Its sources were sent to this"
                        " collector\">sources</span>");
}

// write_image_package reports what the package note of the image's file says.
static void write_image_package(struct text *out, const json_t *image)
{
    const json_t *package = json_object_get(image, "package");
    const char *name = report_string(package, "name");
    const char *version = report_string(package, "version");
    if (name != NULL)
        html_write(out,
                   "<span class=\"mark\" title=\"The package that its file names\">"
                   "%.*s %.*s</span>",
                   PAGE_SHORT, name, PAGE_SHORT, version != NULL ? version : "");
}

static void write_image_row(struct text *out, const struct viewed_report *viewed,
                            const json_t *image)
{
    const char *build_id = report_string(image, "build_id");
    const char *path = report_string(image, "path");
    html_write(out, "<tr><td><b>%.*s</b>", PAGE_SHORT, report_string(image, "name"));
    if (report_flag(image, "has_sframe"))
        html_write(out, "<span class=\"mark\" title=\"Has unwind rows in SFrame form\">"
                        "SFrame</span>");
    write_image_package(out, image);
    write_sent(out, viewed, build_id);
    html_write(out, "<span class=\"path\">%.*s</span></td><td class=\"id\">",
               PAGE_SHORT, path);
    if (build_id != NULL)
        page_write_link(out, "", "build", build_id, build_id);
    else
        html_write(out, "no build ID");
    html_write(out, "</td><td class=\"id\">%.*s</td></tr>\n", 20,
               report_string(image, "base"));
}

void page_images_write(struct text *out, const struct viewed_report *viewed)
{
    const json_t *report = viewed->opened.json;
    const json_t *images = json_object_get(report, "images");
    size_t count = json_array_size(images);
    size_t shown = 0;
    if (count == 0)
        return;
    html_write(out,
               "<section class=\"card\" id=\"images\"><details><summary><h2>Images"
               " <small>%zu loaded</small></h2></summary><div class=\"scroll\" "
               "tabindex=\"0\"><table>"
               "<thead><tr><th>Image</th><th>Build ID</th><th>Base</th></tr></thead>"
               "<tbody>\n",
               count);
    while (shown < count && shown < IMAGES_SHOWN && !page_is_full(out))
        write_image_row(out, viewed, json_array_get(images, shown++));
    html_write(out, "</tbody></table></div>");
    page_write_cut(out, shown, count, "");
    html_write(out, "</details></section>\n");
}
