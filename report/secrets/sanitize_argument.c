// SPDX-License-Identifier: Apache-2.0
#include "report/secrets/sanitize_argument.h"

#include <stdbool.h>
#include <string.h>

#include "report/secrets/sanitize.h"
#include "report/secrets/secret_text.h"
#include "report/secrets/secret_value.h"

#define MASK "***"

// append_login appends user:password, or user%password, without the password. Two
// numbers are a user and a group.
static void append_login(const char *login, const char *home, struct text *out)
{
    size_t user = strcspn(login, ":%");
    bool named = secret_text_is_letter(login[0]) || secret_text_is_digit(login[0]);
    bool numbers = login[strspn(login, "0123456789:")] == 0;
    if (!named || numbers || login[user] == 0 || login[user + 1] == 0 ||
        strncmp(login + user, "://", 3) == 0) {
        sanitize_string(login, home, out);
        return;
    }
    text_append(out, login, user + 1);
    text_append_string(out, MASK);
}

// append_value appends the value of an option: all of it is masked, because a password
// may contain any character.
static void append_value(const char *value, const struct secret_option *option,
                         const char *home, struct text *out)
{
    if (option->kind == SECRET_OPTION_LOGIN)
        append_login(value, home, out);
    else if (secret_value_counts(option->sure, SECRET_FORM_PAIR, value, strlen(value)))
        text_append_string(out, MASK);
    else
        sanitize_string(value, home, out);
}

// setting_of treats NAME=VALUE, as `env` takes it, like an option of that name.
static struct secret_option setting_of(const char *argument)
{
    size_t name = 0;
    while (secret_text_is_name(argument[name]))
        name++;
    struct secret_option option = { .kind = SECRET_OPTION_NONE };
    if (argument[name] != '=')
        return option;
    option.sure = secret_name_of(argument, name);
    option.attached = name + 1;
    if (option.sure != SECRET_NAME_NONE)
        option.kind = SECRET_OPTION_VALUE;
    return option;
}

void sanitize_argument(struct sanitize_arguments *line, const char *argument,
                       struct text *out)
{
    const struct secret_option given = line->next;
    struct secret_option option = setting_of(argument);
    line->next = (struct secret_option){ .kind = SECRET_OPTION_NONE };
    if (given.kind != SECRET_OPTION_NONE && strncmp(argument, "--", 2) != 0) {
        append_value(argument, &given, line->home, out);
        return;
    }
    if (line->program == NULL)
        line->program = argument;
    else if (option.kind == SECRET_OPTION_NONE)
        option = secret_option_of(line->program, argument, strlen(argument));
    if (option.kind == SECRET_OPTION_NONE) {
        sanitize_string(argument, line->home, out);
    } else if (option.attached != 0) {
        text_append(out, argument, option.attached);
        append_value(argument + option.attached, &option, line->home, out);
    } else {
        text_append_string(out, argument);
        line->next = option;
    }
}
