// SPDX-License-Identifier: Apache-2.0
#include "collector/entry/release_order.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { HASH_MIN = 7, HASH_MAX = 64 };

// before holds words that mark what comes before the release of that number.
static const char *const before[] = { "a",   "alpha",   "b",  "beta",     "dev",
                                      "pre", "preview", "rc", "snapshot", "nightly" };

// piece is a part of a release: digits, letters, or (size 0) the end.
struct piece {
    const char *start;
    size_t size;
    bool number;
    bool early; // it is older than the end of a release: 2.0-rc < 2.0
};

static bool is_hash(const char *release)
{
    size_t length = strspn(release, "0123456789abcdef");
    return release[length] == 0 && length >= HASH_MIN && length <= HASH_MAX &&
           strpbrk(release, "abcdef") != NULL;
}

// skip_name skips `program@` and a `v` before the first digit.
static const char *skip_name(const char *release)
{
    const char *at = strrchr(release, '@');
    if (at != NULL && at[1] != 0)
        release = at + 1;
    if ((release[0] == 'v' || release[0] == 'V') && isdigit((unsigned char)release[1]))
        release++;
    return release;
}

static bool is_early_word(const struct piece *piece)
{
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        if (strlen(before[i]) == piece->size &&
            strncasecmp(before[i], piece->start, piece->size) == 0)
            return true;
    }
    return false;
}

static struct piece take_piece(const char **cursor)
{
    const char *c = *cursor;
    struct piece piece = { 0 };
    bool tilde = false;
    for (; *c != 0 && !isalnum((unsigned char)*c); c++)
        tilde |= *c == '~';
    piece.number = isdigit((unsigned char)*c);
    while (piece.number && *c == '0' && isdigit((unsigned char)c[1]))
        c++;
    piece.start = c;
    while (piece.number ? isdigit((unsigned char)*c) : isalpha((unsigned char)*c))
        c++;
    piece.size = (size_t)(c - piece.start);
    piece.early = tilde || (!piece.number && is_early_word(&piece));
    *cursor = c;
    return piece;
}

static int compare_release_text(const struct piece *a, const struct piece *b)
{
    size_t shorter = a->size < b->size ? a->size : b->size;
    int order = strncasecmp(a->start, b->start, shorter);
    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

// is_code_name is true for a word that says nothing of an order: a code name, a branch.
static bool is_code_name(const struct piece *piece)
{
    return piece->size > 1 && !piece->number && !piece->early;
}

// has_order is false for two different words in the same place, and for a word in the
// place of the first number.
static bool has_order(const struct piece *a, const struct piece *b, bool first)
{
    bool words = is_code_name(a) && is_code_name(b);
    return !words &&
           !(first && a->number != b->number && (is_code_name(a) || is_code_name(b)));
}

static int compare_pieces(const struct piece *a, const struct piece *b)
{
    if (a->size == 0 || b->size == 0) {
        int more = (a->size != 0) - (b->size != 0);
        return a->early || b->early ? -more : more;
    }
    if (a->early != b->early)
        return a->early ? -1 : 1;
    if (a->number != b->number)
        return a->number ? 1 : -1;
    if (a->number && a->size != b->size)
        return a->size > b->size ? 1 : -1;
    return compare_release_text(a, b);
}

bool release_order(const char *a, const char *b, int *out)
{
    if (a[0] == 0 || b[0] == 0) {
        *out = (a[0] != 0) - (b[0] != 0);
        return true;
    }
    a = skip_name(a);
    b = skip_name(b);
    if (is_hash(a) || is_hash(b)) {
        *out = 0;
        return strcmp(a, b) == 0;
    }
    int order = 0;
    bool at_start = true;
    while (order == 0 && (*a != 0 || *b != 0)) {
        struct piece first = take_piece(&a);
        struct piece second = take_piece(&b);
        order = compare_pieces(&first, &second);
        if (order != 0 && !has_order(&first, &second, at_start))
            return false;
        at_start = false;
        if (first.size == 0 && second.size == 0)
            break; // the rest belongs to no piece
    }
    *out = order;
    return true;
}
