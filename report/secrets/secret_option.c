// SPDX-License-Identifier: Apache-2.0
#include "report/secrets/secret_option.h"

#include <stdbool.h>
#include <string.h>

#include "base/system/file.h"
#include "report/secrets/secret_text.h"

// place is where the value of a short option may be.
enum place { NEXT = 1, ATTACHED = 2, EITHER = NEXT | ATTACHED };

struct short_option {
    const char *program; // beginning of its name; NULL: any program
    const char *option;
    enum place place;
    enum secret_option_kind kind;
};

static const struct short_option short_options[] = {
    { "7z", "-p", ATTACHED, SECRET_OPTION_VALUE },
    { "bcp", "-P", EITHER, SECRET_OPTION_VALUE },
    { "cqlsh", "-p", EITHER, SECRET_OPTION_VALUE },
    { "ftp", "-p", ATTACHED, SECRET_OPTION_VALUE },
    { "influx", "-t", NEXT, SECRET_OPTION_VALUE },
    { "ipmitool", "-P", EITHER, SECRET_OPTION_VALUE },
    { "isql", "-P", EITHER, SECRET_OPTION_VALUE },
    { "ldap", "-w", EITHER, SECRET_OPTION_VALUE },
    { "maria", "-p", ATTACHED, SECRET_OPTION_VALUE },
    { "mongo", "-p", EITHER, SECRET_OPTION_VALUE },
    { "mosquitto", "-P", EITHER, SECRET_OPTION_VALUE },
    { "mysql", "-p", ATTACHED, SECRET_OPTION_VALUE },
    { "openssl", "-K", NEXT, SECRET_OPTION_VALUE },
    { "openssl", "-k", NEXT, SECRET_OPTION_VALUE },
    { "rabbitmqadmin", "-p", EITHER, SECRET_OPTION_VALUE },
    { "redis", "-a", EITHER, SECRET_OPTION_VALUE },
    { "snmp", "-A", EITHER, SECRET_OPTION_VALUE },
    { "snmp", "-X", EITHER, SECRET_OPTION_VALUE },
    { "snmp", "-c", EITHER, SECRET_OPTION_VALUE },
    { "sqlcmd", "-P", EITHER, SECRET_OPTION_VALUE },
    { "sshpass", "-p", EITHER, SECRET_OPTION_VALUE },
    { "unzip", "-P", EITHER, SECRET_OPTION_VALUE },
    { "xfreerdp", "/p:", ATTACHED, SECRET_OPTION_VALUE },
    { "zip", "-P", EITHER, SECRET_OPTION_VALUE },
    { NULL, "-u", EITHER, SECRET_OPTION_LOGIN },
    { NULL, "-U", EITHER, SECRET_OPTION_LOGIN },
    { NULL, "--user", NEXT, SECRET_OPTION_LOGIN },
    { NULL, "--user=", ATTACHED, SECRET_OPTION_LOGIN },
    { NULL, "--proxy-user", NEXT, SECRET_OPTION_LOGIN },
    { NULL, "--proxy-user=", ATTACHED, SECRET_OPTION_LOGIN },
};

// p_words holds the beginnings of words with one dash: `-pthread` is not a password.
static const char *const p_words[] = {
    "-parallel", "-pass",  "-patch", "-path",   "-pedantic", "-peer",  "-pem",
    "-perf",     "-perm",  "-pers",  "-pid",    "-pie",      "-pin",   "-pipe",
    "-pix",      "-pbk",   "-pkcs",  "-pkey",   "-pol",      "-pkg",   "-plat",
    "-play",     "-plot",  "-plug",  "-poll",   "-pool",     "-port",  "-pos",
    "-post",     "-pred",  "-pre",   "-pretty", "-prim",     "-print", "-priv",
    "-proc",     "-prof",  "-prog",  "-proj",   "-prompt",   "-prop",  "-prot",
    "-prov",     "-proxy", "-prune", "-psn_",   "-pthread",  "-pub",   "-pvalue",
    "-pw",
};

static bool option_begins_with(const char *text, size_t length, const char *begin)
{
    size_t n = strlen(begin);
    return n <= length && strncmp(text, begin, n) == 0;
}

// is_p_number is true for -p8080, -p80:80, -p1,2, -p0.
static bool is_p_number(const char *argument, size_t length)
{
    enum { PORT_DIGITS = 5 };
    size_t digits = 0;
    for (size_t i = 2; i < length; i++) {
        bool digit = secret_text_is_digit(argument[i]);
        digits = digit ? digits + 1 : 0;
        if (digits > PORT_DIGITS || (!digit && strchr(":,.-/", argument[i]) == NULL))
            return false;
    }
    return true;
}

// is_p_password is true for `-p` followed by a password, as mysql takes it.
static bool is_p_password(const char *argument, size_t length)
{
    if (length < 4 || !option_begins_with(argument, length, "-p") ||
        strchr("/.=:~", argument[2]) != NULL || is_p_number(argument, length))
        return false;
    for (size_t i = 0; i < sizeof(p_words) / sizeof(p_words[0]); i++) {
        if (option_begins_with(argument, length, p_words[i]))
            return false;
    }
    return true;
}

static struct secret_option attached_at(enum secret_option_kind kind, size_t at)
{
    return (struct secret_option){ kind, SECRET_NAME_ALWAYS, at };
}

// short_option_of looks up an option in the table.
static struct secret_option short_option_of(const char *program, const char *argument,
                                            size_t length)
{
    for (size_t i = 0; i < sizeof(short_options) / sizeof(short_options[0]); i++) {
        const struct short_option *known = &short_options[i];
        size_t name = strlen(known->option);
        if (!option_begins_with(argument, length, known->option))
            continue;
        if (known->program != NULL &&
            (program == NULL ||
             !option_begins_with(program, strlen(program), known->program)))
            continue;
        if (length == name && (known->place & NEXT) != 0)
            return attached_at(known->kind, 0);
        if (length > name && (known->place & ATTACHED) != 0)
            return attached_at(known->kind, name);
    }
    return (struct secret_option){ SECRET_OPTION_NONE, SECRET_NAME_NONE, 0 };
}

struct secret_option secret_option_of(const char *program, const char *argument,
                                      size_t length)
{
    size_t name = 0;
    program = file_name(program);
    struct secret_option option = short_option_of(program, argument, length);
    if (option.kind != SECRET_OPTION_NONE || length < 2 || argument[0] != '-')
        return option;
    if (is_p_password(argument, length))
        return attached_at(SECRET_OPTION_VALUE, 2);
    while (name < length && secret_text_is_name(argument[name]))
        name++;
    if (name < length && argument[name] != '=')
        return option;
    option.sure = secret_name_of(argument, name);
    option.attached = name < length ? name + 1 : 0;
    if (option.sure != SECRET_NAME_NONE)
        option.kind = SECRET_OPTION_VALUE;
    return option;
}
