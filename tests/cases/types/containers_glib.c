// SPDX-License-Identifier: Apache-2.0
//
// Objects of GLib. With an argument each is overwritten by pointers to itself.
#include <glib.h>

static int *volatile nothing;

static void damage(void *object, size_t size)
{
    void **words = object;
    for (size_t i = 0; i < size / sizeof(*words); i++)
        words[i] = object;
}

int main(int argc, char **argv)
{
    (void)argv;
    GString *text = g_string_new("some text");
    GHashTable *ages = g_hash_table_new(g_str_hash, g_str_equal);
    GHashTable *names = g_hash_table_new(g_str_hash, g_str_equal);
    GHashTable *squares = g_hash_table_new(g_direct_hash, g_direct_equal);
    GHashTable *seen = g_hash_table_new(g_str_hash, g_str_equal);
    GHashTable *empty = g_hash_table_new(g_str_hash, g_str_equal);
    GQueue *queue = g_queue_new();
    for (int i = 0; i < 12; i++) {
        char *key = g_strdup_printf("k%d", i);
        g_hash_table_insert(ages, key, GINT_TO_POINTER(i));
        g_hash_table_insert(squares, GINT_TO_POINTER(i), GINT_TO_POINTER(i * i));
        if (i < 3)
            g_hash_table_add(seen, key);
        if (i < 3)
            g_hash_table_insert(names, key, g_strdup("value"));
        if (i < 3)
            g_queue_push_tail(queue, key);
    }
    g_hash_table_remove(ages, "k3");
    if (argc > 1) {
        damage(ages, 56);
        damage(squares, 56);
        damage(queue, sizeof(*queue));
        damage(text, sizeof(*text));
    }
    return *nothing + (empty == names);
}
