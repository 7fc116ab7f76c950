// SPDX-License-Identifier: Apache-2.0
#include "report/secrets/people.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static bool is_letter_or_digit(char c)
{
    return isalnum((unsigned char)c) != 0;
}

// is_issued returns true if cards of that first digit have that many digits.
static bool is_issued(char first, size_t count)
{
    switch (first) {
    case '2':
    case '5':
        return count == 16;
    case '3':
        return count >= 14 && count <= 16;
    case '4':
        return count == 13 || count == 16 || count == 19;
    case '6':
        return count >= 16;
    default:
        return false;
    }
}

// card_length gives the length of a card number at text: 13 to 19 digits, perhaps with
// single blanks or dashes between, of which the last checks the others. 0: none.
static size_t card_length(const char *text)
{
    enum { LEAST = 13, MOST = 19 };
    char digits[MOST + 1];
    size_t count = 0;
    size_t at = 0;
    unsigned sum = 0;
    bool same = true;
    while (count <= MOST && (isdigit((unsigned char)text[at]) ||
                             (count != 0 && (text[at] == ' ' || text[at] == '-') &&
                              isdigit((unsigned char)text[at + 1])))) {
        if (isdigit((unsigned char)text[at])) {
            if (count <= MOST)
                digits[count] = text[at];
            count++;
        }
        at++;
    }
    if (count < LEAST || count > MOST || is_letter_or_digit(text[at]))
        return 0;
    for (size_t i = 0; i < count; i++) {
        unsigned digit = (unsigned)(digits[count - 1 - i] - '0') << (i % 2);
        sum += digit > 9 ? digit - 9 : digit;
        same = same && digits[i] == digits[0];
    }
    return sum % 10 == 0 && !same && is_issued(digits[0], count) ? at : 0;
}

// iban_length gives the length of an IBAN at text: a country, two check digits and 11
// to 30 letters and digits, perhaps in groups; modulo 97 it is 1 (ISO 13616). 0: none.
static size_t iban_length(const char *text)
{
    enum { LEAST = 15, MOST = 34 };
    char account[MOST + 1];
    size_t count = 0;
    size_t at = 0;
    unsigned rest = 0;
    if (!isupper((unsigned char)text[0]) || !isupper((unsigned char)text[1]) ||
        !isdigit((unsigned char)text[2]) || !isdigit((unsigned char)text[3]))
        return 0;
    while (count < MOST &&
           (isupper((unsigned char)text[at]) || isdigit((unsigned char)text[at]) ||
            (count % 4 == 0 && text[at] == ' ' &&
             (isupper((unsigned char)text[at + 1]) ||
              isdigit((unsigned char)text[at + 1]))))) {
        if (text[at] != ' ')
            account[count++] = text[at];
        at++;
    }
    if (count < LEAST || is_letter_or_digit(text[at]))
        return 0;
    for (size_t i = 0; i < count; i++) {
        char c = account[(i + 4) % count];
        rest = isdigit((unsigned char)c) ? (rest * 10 + (unsigned)(c - '0')) % 97
                                         : (rest * 100 + (unsigned)(c - 'A') + 10) % 97;
    }
    return rest == 1 ? at : 0;
}

static bool is_mail_character(char c)
{
    return is_letter_or_digit(c) ||
           (c != 0 && strchr(".!#$%&'*+-/=?^_`{|}~", c) != NULL);
}

// mail_length gives the length of an e-mail address at text: NAME@DOMAIN.ENDING. 0:
// none.
static size_t mail_length(const char *text)
{
    enum { NAME_MOST = 64, ENDING_LEAST = 2 };
    size_t name = 0;
    size_t dot = 0;
    while (name <= NAME_MOST && is_mail_character(text[name]))
        name++;
    if (name == 0 || name > NAME_MOST || text[name] != '@')
        return 0;
    size_t end = name + 1;
    for (; is_letter_or_digit(text[end]) || ((text[end] == '-' || text[end] == '.') &&
                                             is_letter_or_digit(text[end + 1]));
         end++)
        if (text[end] == '.')
            dot = end;
    size_t letters = 0;
    while (dot != 0 && isalpha((unsigned char)text[dot + 1 + letters]))
        letters++;
    return dot != 0 && letters >= ENDING_LEAST && dot + 1 + letters == end ? end : 0;
}

// found_length gives the length of what begins at text, where a word does.
static size_t found_length(const char *text)
{
    size_t length = card_length(text);
    if (length == 0)
        length = iban_length(text);
    return length != 0 ? length : mail_length(text);
}

bool people_have(const char *string)
{
    for (const char *at = string; *at != 0; at++)
        if ((at == string || !is_letter_or_digit(at[-1])) && found_length(at) != 0)
            return true;
    return false;
}

void people_mask(const char *string, struct text *out)
{
    const char *copied = string;
    for (const char *at = string; *at != 0;) {
        bool begins = at == string || !is_letter_or_digit(at[-1]);
        size_t length = begins ? found_length(at) : 0;
        if (length == 0) {
            at++;
            continue;
        }
        text_append(out, copied, (size_t)(at - copied));
        text_append_string(out, "***");
        at += length;
        copied = at;
    }
    text_append_string(out, copied);
}
