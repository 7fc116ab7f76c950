// SPDX-License-Identifier: Apache-2.0
#include "collector/routes.h"

#include "collector/pages/pages.h"
#include "collector/server/api.h"
#include "collector/server/collector.h"
#include "formats/source_bundle.h"

enum { DEBUG_FILE_MAX = 2 << 29, FORM_MAX = 64 << 10 }; // 1 GB and 64 KB

const struct http_route routes_table[] = {
    { "GET", "/", HTTP_READ, ACCESS_READ, .page = true, .handle = page_overview },
    { "GET", "/groups", HTTP_READ, ACCESS_READ, .page = true, .handle = page_groups },
    { "POST", "/groups", HTTP_FORM, ACCESS_TRIAGE, .page = true, .body_limit = FORM_MAX,
      .handle = page_post_groups },
    { "GET", "/groups/*", HTTP_READ, ACCESS_READ, .page = true, .handle = page_group },
    { "POST", "/groups/*", HTTP_FORM, ACCESS_TRIAGE, .page = true,
      .body_limit = FORM_MAX, .handle = page_post_group },
    { "GET", "/alerts", HTTP_READ, ACCESS_READ, .page = true, .handle = page_alerts },
    { "POST", "/alerts", HTTP_FORM, ACCESS_ADMIN, .page = true, .body_limit = FORM_MAX,
      .handle = page_post_alerts },
    { "POST", "/login", HTTP_LOGIN, 0, .page = true, .body_limit = FORM_MAX,
      .handle = page_post_login },
    { "POST", "/logout", HTTP_LOGIN, 0, .page = true, .body_limit = FORM_MAX,
      .handle = page_post_logout },
    { "GET", "/reports/*", HTTP_READ, ACCESS_READ, .page = true,
      .handle = page_report },
    { "GET", "/compare", HTTP_READ, ACCESS_READ, .page = true, .handle = page_compare },
    { "GET", "/style.css", HTTP_OPEN, 0, .page = true, .handle = page_style },
    { "GET", "/healthz", HTTP_OPEN, 0, .handle = api_health },
    { "GET", "/readyz", HTTP_OPEN, 0, .handle = api_ready },
    { "GET", "/metrics", HTTP_READ, ACCESS_READ, .handle = api_metrics },
    { "GET", "/api/v1/groups", HTTP_READ, ACCESS_READ, .handle = api_list_groups },
    { "GET", "/api/v1/groups/*", HTTP_READ, ACCESS_READ, .handle = api_get_group },
    { "GET", "/api/v1/reports", HTTP_READ, ACCESS_READ, .handle = api_list_reports },
    { "GET", "/api/v1/reports/*", HTTP_READ, ACCESS_READ, .handle = api_get_report },
    { "POST", "/api/v1/reports", HTTP_WRITE, ACCESS_SEND,
      .body_limit = COLLECTOR_BODY_MAX, .handle = api_post_report,
      .begin = api_begin_report },
    { "POST", "/api/v1/groups/*", HTTP_WRITE, ACCESS_TRIAGE, .body_limit = FORM_MAX,
      .handle = api_post_group },
    { "GET", "/api/v1/starts", HTTP_READ, ACCESS_READ, .handle = api_list_starts },
    { "POST", "/api/v1/starts", HTTP_WRITE, ACCESS_SEND, .body_limit = FORM_MAX,
      .handle = api_post_starts },
    { "GET", "/api/v1/alerts", HTTP_READ, ACCESS_READ, .handle = api_list_alerts },
    { "POST", "/api/v1/alerts/test/*", HTTP_WRITE, ACCESS_ADMIN, .body_limit = FORM_MAX,
      .handle = api_test_alert },
    { "GET", "/access", HTTP_READ, ACCESS_READ | ACCESS_ADMIN, .page = true,
      .handle = page_access },
    { "POST", "/access", HTTP_FORM, ACCESS_READ | ACCESS_ADMIN, .page = true,
      .body_limit = FORM_MAX, .handle = page_post_access },
    { "GET", "/api/v1/audit", HTTP_READ, ACCESS_ADMIN, .handle = api_list_audit },
    { "DELETE", "/api/v1/reports", HTTP_WRITE, ACCESS_ADMIN,
      .handle = api_erase_reports },
    { "GET", "/api/v1/symbols/*", HTTP_READ, ACCESS_READ | ACCESS_SYMBOLS,
      .handle = api_get_symbols },
    { "PUT", "/api/v1/symbols/*", HTTP_WRITE, ACCESS_SYMBOLS,
      .body_limit = DEBUG_FILE_MAX, .handle = api_put_symbols,
      .begin = api_begin_symbols, .body = api_take_symbols },
    { "GET", "/api/v1/sources/*", HTTP_READ, ACCESS_READ | ACCESS_SYMBOLS,
      .handle = api_get_sources },
    { "PUT", "/api/v1/sources/*", HTTP_WRITE, ACCESS_SYMBOLS,
      .body_limit = SOURCE_BUNDLE_BYTES, .handle = api_put_symbols,
      .begin = api_begin_sources, .body = api_take_symbols },
};

const size_t routes_count = sizeof(routes_table) / sizeof(routes_table[0]);
