// SPDX-License-Identifier: Apache-2.0
#include "collector/server/access.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hex.h"
#include "collector/database/timestamp.h"
#include "collector/server/setting_line.h"

enum { TOKEN_FILE_BYTES = 4 << 20 };

static const struct setting_flag scope_names[] = {
    { "send", ACCESS_SEND },     { "read", ACCESS_READ },
    { "triage", ACCESS_TRIAGE }, { "symbols", ACCESS_SYMBOLS },
    { "admin", ACCESS_ADMIN },
};
enum { SCOPE_COUNT = sizeof(scope_names) / sizeof(scope_names[0]) };

void access_write_scopes(unsigned scopes, char *out, size_t size)
{
    size_t at = 0;
    out[0] = 0;
    for (size_t i = 0; i < SCOPE_COUNT && at < size; i++) {
        if ((scopes & scope_names[i].flag) != 0)
            at += (size_t)snprintf(out + at, size - at, "%s%s", at != 0 ? "," : "",
                                   scope_names[i].name);
    }
}

bool access_read_scopes(const char *text, unsigned *out)
{
    return setting_flags_read(text, scope_names, SCOPE_COUNT, out);
}

// access_is_name accepts printable names alone, because they stand in headers, logs and
// pages.
bool access_is_name(const char *name, size_t size)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-_.@+";
    size_t length = strspn(name, allowed);
    return length != 0 && length < size && name[length] == 0;
}

// is_group_name accepts what a list with commas may have.
static bool is_group_name(const char *name)
{
    size_t length = strcspn(name, ",\"\\\177");
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)name[i] <= ' ')
            return false;
    }
    return length != 0 && length < ACCESS_NAME_SIZE && name[length] == 0;
}

// take_grant_setting takes one setting of a line, and returns what is wrong with it.
static const char *take_grant_setting(struct access_grant *grant, const char *key,
                                      const char *value)
{
    if (strcmp(key, "scopes") == 0)
        return access_read_scopes(value, &grant->scopes)
                   ? NULL
                   : "scopes= takes send, read, triage, symbols and admin, with commas";
    bool name = strcmp(key, "name") == 0;
    if (!name && strcmp(key, "project") != 0)
        return "there is no such setting";
    if (name && grant->group) {
        if (!is_group_name(value))
            return "the name of a group has 63 bytes at most, and no comma, quotation"
                   " mark or backslash";
    } else if (!access_is_name(value,
                               name ? sizeof(grant->name) : sizeof(grant->project)))
        return "a name has letters, digits and -_.@+ alone, 63 at most";
    if (!name && value[0] == '.') // there is a folder of that name
        return "the name of a project does not begin with a dot";
    memcpy(name ? grant->name : grant->project, value, strlen(value) + 1);
    grant->named |= name;
    return NULL;
}

// read_most_per_group reads a number from 1 on, or `all`.
static bool read_most_per_group(const char *text, int64_t *out)
{
    char *end = NULL;
    *out = strcmp(text, "all") == 0 ? 0 : strtoll(text, &end, 10);
    return end == NULL ||
           (strspn(text, "0123456789") == strlen(text) && *end == 0 && *out > 0);
}

static bool read_kept_age(const char *text, int64_t *out)
{
    *out = 0;
    return strcmp(text, "all") == 0 ||
           (timestamp_read_span(text, out) == CH_OK && *out > 0);
}

// take_project_setting takes one setting of a line `project`, and returns what is wrong
// with it.
static const char *take_project_setting(struct access_project *project, const char *key,
                                        const char *value)
{
    if (strcmp(key, "keep") == 0)
        return read_kept_age(value, &project->keep.age_ms)
                   ? NULL
                   : "keep= takes a time such as 90d, or all";
    if (strcmp(key, "keep-per-group") == 0)
        return read_most_per_group(value, &project->keep.per_group)
                   ? NULL
                   : "keep-per-group= takes a number, or all";
    if (strcmp(key, "rate") == 0)
        return rate_parse(value, &project->rate) == CH_OK
                   ? NULL
                   : "rate= takes a number in a time such as 600/1m";
    if (strcmp(key, "symbols") == 0)
        return size_read(value, &project->symbols) == CH_OK
                   ? NULL
                   : "symbols= takes a size such as 10G";
    if (strcmp(key, "name") != 0)
        return "there is no such setting of a project";
    if (!access_is_name(value, sizeof(project->keep.project)))
        return "a name has letters, digits and -_.@+ alone, 63 at most";
    memcpy(project->keep.project, value, strlen(value) + 1);
    return NULL;
}

// reading is a file on its way in.
struct reading {
    struct access_grant *grants;
    size_t count;
    struct access_project *projects;
    size_t project_count;
    size_t tokens; // bare and named, for the names of bare ones
    unsigned fallback;
};

static const char *take_grant_word(struct reading *reading, const char *word,
                                   struct access_grant *grant)
{
    static const char prefix[] = "sha256=";
    const char *sum = word + sizeof(prefix) - 1;
    bool summed = strncmp(word, prefix, sizeof(prefix) - 1) == 0;
    if (grant->group || (strcmp(word, "user") == 0 && grant->named)) {
        grant->index = reading->count; // lines of groups have an order
        return grant->named ? NULL : "a group needs a name=";
    }
    if (strlen(word) >= ACCESS_TOKEN_SIZE)
        return "a token is longer than 511 bytes";
    if (summed && (strlen(sum) != SHA256_HEX_SIZE - 1 ||
                   strspn(sum, "0123456789abcdef") != SHA256_HEX_SIZE - 1))
        return "sha256= takes 64 lower-case hexadecimal digits";
    if (summed)
        memcpy(grant->sum, sum, sizeof(grant->sum));
    else
        sha256_hex(word, strlen(word), grant->sum);
    grant->index = reading->tokens++;
    if (!grant->named)
        (void)snprintf(grant->name, sizeof(grant->name), "token %zu", grant->index + 1);
    return NULL;
}

static const char *take_project_line(struct reading *reading,
                                     const struct setting_line *line)
{
    struct access_project project = { .keep = { .age_ms = STORE_KEEP_AS_OTHERS,
                                                .per_group = STORE_KEEP_AS_OTHERS },
                                      .index = reading->project_count };
    for (size_t i = 0; i < line->count; i++) {
        const char *wrong =
            take_project_setting(&project, line->pairs[i].key, line->pairs[i].value);
        if (wrong != NULL)
            return wrong;
    }
    if (project.keep.project[0] == 0)
        return "a project needs a name=";
    for (size_t i = 0; i < reading->project_count; i++) {
        if (strcmp(reading->projects[i].keep.project, project.keep.project) == 0)
            return "this project was set before";
    }
    if (reading->project_count == ACCESS_PROJECTS)
        return "there are more than 1024 projects with settings";
    reading->projects[reading->project_count++] = project;
    return NULL;
}

static const char *take_access_line(struct reading *reading, char *text)
{
    struct setting_line line;
    enum ch_status status = setting_line_read(text, &line);
    if (status == CH_ERR_NOT_FOUND)
        return NULL;
    if (status != CH_OK)
        return "what follows a token is key=value, separated by blanks";
    if (strcmp(line.word, "project") == 0 && line.count != 0)
        return take_project_line(reading, &line);
    struct access_grant grant = { .group = strcmp(line.word, "group") == 0 &&
                                           line.count != 0 };
    for (size_t i = 0; i < line.count; i++) {
        const char *wrong =
            take_grant_setting(&grant, line.pairs[i].key, line.pairs[i].value);
        if (wrong != NULL)
            return wrong;
    }
    if (strcmp(line.word, "default") == 0 && line.count != 0) {
        if (grant.named || grant.project[0] != 0 || reading->count != 0)
            return "default takes scopes= alone, before any token";
        reading->fallback = grant.scopes;
        return NULL;
    }
    if (grant.scopes == 0)
        grant.scopes = reading->fallback;
    if (reading->count == ACCESS_TOKENS)
        return "there are more than 16384 tokens";
    const char *wrong = take_grant_word(reading, line.word, &grant);
    if (wrong == NULL)
        reading->grants[reading->count++] = grant;
    return wrong;
}

static int by_sum(const void *a, const void *b)
{
    const struct access_grant *x = a;
    const struct access_grant *y = b;
    return strcmp(x->sum, y->sum);
}

// read_grants reads the whole file; why gets a sentence on failure.
static enum ch_status read_grants(const char *path, struct reading *out,
                                  char why[ACCESS_WHY_SIZE])
{
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    enum ch_status status = setting_file_read(path, TOKEN_FILE_BYTES, &text);
    if (status != CH_OK) {
        (void)snprintf(why, ACCESS_WHY_SIZE, "cannot read token file '%.200s': %s",
                       path,
                       status == CH_ERR_LIMIT ? "it is too long" : strerror(errno));
        return status;
    }
    int number = 0;
    char *rest = text.size != 0 ? text.bytes : NULL;
    while (rest != NULL) {
        char *line = strsep(&rest, "\n");
        const char *wrong = take_access_line(out, line);
        number++;
        if (wrong == NULL)
            continue;
        (void)snprintf(why, ACCESS_WHY_SIZE,
                       "cannot read token file '%.200s': line %d: %s", path, number,
                       wrong);
        return CH_ERR_MALFORMED;
    }
    if (out->count != 0)
        return CH_OK;
    (void)snprintf(why, ACCESS_WHY_SIZE,
                   "cannot read token file '%.200s': there is no token in it", path);
    return CH_ERR_NOT_FOUND;
}

enum ch_status access_reload(struct access *access, char why[ACCESS_WHY_SIZE])
{
    bool users = false;
    if (access->path == NULL)
        return CH_OK;
    struct reading reading = {
        .grants = calloc(ACCESS_TOKENS, sizeof(struct access_grant)),
        .projects = calloc(ACCESS_PROJECTS, sizeof(struct access_project)),
        .fallback = ACCESS_ALL
    };
    (void)snprintf(why, ACCESS_WHY_SIZE, "out of memory");
    enum ch_status status = reading.grants != NULL && reading.projects != NULL
                                ? read_grants(access->path, &reading, why)
                                : CH_ERR_NO_MEMORY;
    if (status != CH_OK) {
        free(reading.grants);
        free(reading.projects);
        return status;
    }
    for (size_t i = 0; i < reading.count; i++)
        users |= reading.grants[i].named;
    qsort(reading.grants, reading.count, sizeof(reading.grants[0]), by_sum);
    pthread_rwlock_wrlock(&access->lock);
    struct access_grant *grants = access->grants;
    struct access_project *projects = access->projects;
    access->grants = reading.grants;
    access->count = reading.count;
    access->projects = reading.projects;
    access->project_count = reading.project_count;
    access->users = users;
    pthread_rwlock_unlock(&access->lock);
    free(grants);
    free(projects);
    return CH_OK;
}

void access_set_made(struct access *access, struct access_grant *made, size_t count)
{
    for (size_t i = 0; i < count; i++)
        made[i].index = ACCESS_TOKENS + 1 + i;
    if (count != 0)
        qsort(made, count, sizeof(made[0]), by_sum);
    pthread_rwlock_wrlock(&access->lock);
    struct access_grant *old = access->made;
    access->made = made;
    access->made_count = count;
    pthread_rwlock_unlock(&access->lock);
    free(old);
}

enum ch_status access_init(const char *path, struct access *out,
                           char why[ACCESS_WHY_SIZE])
{
    *out = (struct access){ .path = path };
    pthread_rwlock_init(&out->lock, NULL);
    return access_reload(out, why);
}

void access_deinit(struct access *access)
{
    free(access->grants);
    free(access->made);
    free(access->projects);
    pthread_rwlock_destroy(&access->lock);
}

bool access_needed(const struct access *access)
{
    return access->path != NULL;
}

bool access_has_users(struct access *access)
{
    pthread_rwlock_rdlock(&access->lock);
    bool users = access->users || access->made_count != 0;
    pthread_rwlock_unlock(&access->lock);
    return users;
}

struct access_grant access_anybody(void)
{
    return (struct access_grant){ .scopes = ACCESS_ALL, .index = ACCESS_TOKENS };
}

static const struct access_grant *find_grant(const struct access_grant *grants,
                                             size_t count,
                                             const struct access_grant *wanted)
{
    return count != 0 ? bsearch(wanted, grants, count, sizeof(*wanted), by_sum) : NULL;
}

bool access_find_sum(struct access *access, const char *sum, struct access_grant *out)
{
    struct access_grant wanted = { 0 };
    if (strlen(sum) != SHA256_HEX_SIZE - 1)
        return false;
    memcpy(wanted.sum, sum, sizeof(wanted.sum));
    pthread_rwlock_rdlock(&access->lock);
    const struct access_grant *found =
        find_grant(access->grants, access->count, &wanted);
    if (found == NULL)
        found = find_grant(access->made, access->made_count, &wanted);
    if (found != NULL && found->expires_ms != 0 && found->expires_ms <= timestamp_now())
        found = NULL;
    if (found != NULL)
        *out = *found;
    pthread_rwlock_unlock(&access->lock);
    return found != NULL;
}

bool access_find_token(struct access *access, const char *sent, size_t length,
                       struct access_grant *out)
{
    char sum[SHA256_HEX_SIZE];
    sha256_hex(sent, length, sum);
    return length != 0 && access_find_sum(access, sum, out);
}

bool access_find_name(struct access *access, const char *name, struct access_grant *out)
{
    bool found = false;
    pthread_rwlock_rdlock(&access->lock);
    for (size_t i = 0; i < access->count && !found; i++) {
        found = access->grants[i].named && !access->grants[i].group &&
                strcmp(access->grants[i].name, name) == 0;
        if (found)
            *out = access->grants[i];
    }
    pthread_rwlock_unlock(&access->lock);
    return found;
}

// is_listed_group returns true if a list with commas has a name.
static bool is_listed_group(const char *list, const char *name)
{
    size_t wanted = strlen(name);
    while (*list != 0) {
        list += strspn(list, ", ");
        size_t length = strcspn(list, ",");
        size_t next = length;
        while (length != 0 && list[length - 1] == ' ')
            length--;
        if (length == wanted && memcmp(list, name, wanted) == 0)
            return true;
        list += next;
    }
    return false;
}

// find_person_line finds the line of a user, or the first one of the groups.
static const struct access_grant *find_person_line(const struct access *access,
                                                   const char *name, const char *groups)
{
    const struct access_grant *first = NULL;
    for (size_t i = 0; i < access->count; i++) {
        const struct access_grant *grant = &access->grants[i];
        if (grant->sum[0] != 0)
            break; // tokens; those without one come first
        if (!grant->group && strcmp(grant->name, name) == 0)
            return grant;
        if (grant->group && (first == NULL || grant->index < first->index) &&
            is_listed_group(groups, grant->name))
            first = grant;
    }
    return first;
}

bool access_find_person(struct access *access, const char *name, const char *groups,
                        struct access_grant *out)
{
    if (groups == NULL)
        groups = "";
    if (!access_is_name(name, sizeof(out->name)))
        return false;
    pthread_rwlock_rdlock(&access->lock);
    const struct access_grant *line = find_person_line(access, name, groups);
    if (line != NULL)
        *out = *line;
    for (size_t i = 0; line != NULL && line->group && i < access->count; i++) {
        const struct access_grant *grant = &access->grants[i];
        if (grant->group && strcmp(grant->project, line->project) == 0 &&
            is_listed_group(groups, grant->name))
            out->scopes |= grant->scopes;
    }
    pthread_rwlock_unlock(&access->lock);
    if (line == NULL)
        return false;
    memcpy(out->name, name, strlen(name) + 1);
    out->group = false;
    out->index = 0;
    return true;
}

bool access_find_project(struct access *access, const char *name,
                         struct access_project *out)
{
    bool found = false;
    pthread_rwlock_rdlock(&access->lock);
    for (size_t i = 0; i < access->project_count && !found; i++) {
        found = strcmp(access->projects[i].keep.project, name) == 0;
        if (found)
            *out = access->projects[i];
    }
    pthread_rwlock_unlock(&access->lock);
    return found;
}

size_t access_list_retention(struct access *access, struct store_project_retention *out)
{
    pthread_rwlock_rdlock(&access->lock);
    size_t count = access->project_count;
    for (size_t i = 0; i < count; i++)
        out[i] = access->projects[i].keep;
    pthread_rwlock_unlock(&access->lock);
    return count;
}

bool access_same_origin(const char *fetch_site, const char *origin, const char *host)
{
    if (fetch_site != NULL)
        return strcmp(fetch_site, "same-origin") == 0;
    // A browser that does not send Sec-Fetch-Site names its page in Origin.
    const char *name = origin != NULL ? strstr(origin, "://") : NULL;
    return name != NULL && host != NULL && strcasecmp(name + 3, host) == 0;
}

// find_basic looks for a token after the colon of base64 `user:password`.
static bool find_basic(struct access *access, const char *encoded,
                       struct access_grant *out)
{
    char decoded[ACCESS_TOKEN_SIZE + 256];
    size_t size = 0;
    if (base64_decode(encoded, strlen(encoded), decoded, sizeof(decoded), &size) !=
        CH_OK)
        return false;
    const char *colon = memchr(decoded, ':', size);
    if (colon == NULL)
        return false;
    return access_find_token(access, colon + 1, (size_t)(decoded + size - colon - 1),
                             out);
}

bool access_authorized(struct access *access, const char *authorization, bool basic,
                       struct access_grant *out)
{
    if (authorization == NULL)
        return false;
    const char *space = strchr(authorization, ' ');
    if (space == NULL)
        return false;
    size_t scheme = (size_t)(space - authorization);
    const char *sent = space + strspn(space, " ");
    if (scheme == 6 && strncasecmp(authorization, "Bearer", scheme) == 0)
        return access_find_token(access, sent, strlen(sent), out);
    if (basic && scheme == 5 && strncasecmp(authorization, "Basic", scheme) == 0)
        return find_basic(access, sent, out);
    return false;
}

bool access_host_ok(const char *host)
{
    char name[64];
    struct in6_addr address;
    if (host == NULL)
        return true; // every browser sends one
    bool bracketed = host[0] == '[';
    const char *start = host + bracketed;
    size_t length = strcspn(start, bracketed ? "]" : ":");
    if (length == 0 || length >= sizeof(name) || (bracketed && start[length] == 0))
        return false;
    memcpy(name, start, length);
    name[length] = 0;
    return inet_pton(bracketed ? AF_INET6 : AF_INET, name, &address) == 1 ||
           strcasecmp(name, "localhost") == 0;
}
