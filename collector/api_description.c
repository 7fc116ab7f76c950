// SPDX-License-Identifier: Apache-2.0
//
// The description of the API in the OpenAPI format, version 3.1, made of the table of
// routes.
#include <stdio.h>
#include <string.h>

#include "collector/requests/api.h"
#include "collector/routes.h"

static const char api_prefix[] = "/api/v1/";

static const struct {
    unsigned scope;
    const char *name;
} scopes[] = { { ACCESS_SEND, "send" },
               { ACCESS_READ, "read" },
               { ACCESS_TRIAGE, "triage" },
               { ACCESS_SYMBOLS, "symbols" },
               { ACCESS_ADMIN, "admin" } };

// parameters_json is the parameters of a route: the id in its path, and those of its
// query.
static json_t *parameters_json(const struct http_route *route)
{
    json_t *list = json_array();
    const char *name = route->takes != NULL ? route->takes : "";
    if (strchr(route->path, '*') != NULL)
        json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:{s:s}}", "name", "id",
                                              "in", "path", "required", true, "schema",
                                              "type", "string"));
    while (*name != 0) {
        size_t length = strcspn(name, " ");
        json_array_append_new(list,
                              json_pack("{s:s%, s:s, s:{s:s}}", "name", name, length,
                                        "in", "query", "schema", "type", "string"));
        name += length + strspn(name + length, " ");
    }
    return list;
}

static json_t *operation_json(const struct http_route *route)
{
    json_t *allowed = json_array();
    for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++) {
        if ((route->scopes & scopes[i].scope) != 0)
            json_array_append_new(allowed, json_string(scopes[i].name));
    }
    json_t *operation = json_pack(
        "{s:s, s:o, s:o, s:{s:{s:s}, s:{s:s, s:{s:{s:{s:s}}}}}}", "summary",
        route->about != NULL ? route->about : "", "parameters", parameters_json(route),
        "x-scopes", allowed, "responses", "2XX", "description", "done", "default",
        "description", "refused, or failed", "content", "application/json", "schema",
        "$ref", "#/components/schemas/Error");
    if (route->body_limit != 0)
        json_object_set_new(operation, "requestBody",
                            json_pack("{s:{s:{}}}", "content",
                                      strcmp(route->method, "PUT") == 0
                                          ? "application/octet-stream"
                                          : "application/json"));
    return operation;
}

// path_json is the member of the description for a path, in which `{id}` is in the
// place of `*`.
static json_t *path_json(json_t *paths, const char *path)
{
    char name[HTTP_ID_SIZE];
    size_t length = strcspn(path, "*");
    (void)snprintf(name, sizeof(name), "%.*s%s", (int)length, path,
                   path[length] == '*' ? "{id}" : "");
    json_t *found = json_object_get(paths, name);
    if (found == NULL) {
        found = json_object();
        (void)json_object_set_new(paths, name, found);
    }
    return found;
}

// paths_json is the paths of the API with their methods, in lower case.
static json_t *paths_json(void)
{
    json_t *paths = json_object();
    for (size_t i = 0; i < routes_count; i++) {
        const struct http_route *route = &routes_table[i];
        char method[8] = "";
        if (strncmp(route->path, api_prefix, sizeof(api_prefix) - 1) != 0)
            continue;
        for (size_t k = 0; k + 1 < sizeof(method) && route->method[k] != 0; k++)
            method[k] = (char)(route->method[k] | 0x20);
        (void)json_object_set_new(path_json(paths, route->path), method,
                                  operation_json(route));
    }
    return paths;
}

void api_describe(struct http_request *request)
{
    json_t *components = json_pack(
        "{s:{s:{s:s, s:s}}, s:{s:{s:s, s:[s], s:{s:{s:s}}}}}", "securitySchemes",
        "token", "type", "http", "scheme", "bearer", "schemas", "Error", "type",
        "object", "required", "error", "properties", "error", "type", "string");
    api_answer_json(request, 200,
                    json_pack("{s:s, s:{s:s, s:s}, s:[{s:[]}], s:o, s:o}", "openapi",
                              "3.1.0", "info", "title", "crashhook collector",
                              "version", CRASHHOOK_VERSION, "security", "token",
                              "paths", paths_json(), "components", components));
}
