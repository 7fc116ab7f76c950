// SPDX-License-Identifier: Apache-2.0
#include "images/images.h"

#include "support/bytes.h"
#include "support/test.h"

enum { AT = 0x1000, DESCRIPTION = 24, NOTE = 40 };

// A note of 12800 bytes of watches, 0x100 after where the distance stands.
static const uint8_t watches[NOTE] = {
    10,  0,   0,   0,   16,  0,   0,   0,   1,   0, 0, 0, // name, description, type
    'c', 'r', 'a', 's', 'h', 'h', 'o', 'o', 'k', 0, 0, 0, 1, 0, 0, 0, // version
    0,   50,  0,   0,                                                 // size
    0,   1,   0,   0,   0,   0,   0,   0,                             // distance
};

static struct image_place read_notes(const uint8_t *bytes, size_t size, unsigned kind)
{
    struct image_place places[PLACE_KINDS] = { 0 };
    place_note_read(cursor_over(bytes, size), 4, AT, places);
    return places[kind];
}

static void a_note_gives_the_place_its_distance_leads_to(void **state)
{
    (void)state;
    struct image_place place = read_notes(watches, NOTE, PLACE_WATCHES);
    assert_int_equal(place.address, AT + DESCRIPTION + 8 + 0x100);
    assert_int_equal(place.version, 1);
    assert_int_equal(place.size, 12800);
    assert_int_equal(read_notes(watches, NOTE, PLACE_FLIGHT).address, 0);
}

static void a_note_is_found_behind_others(void **state)
{
    (void)state;
    static const uint8_t build_id[] = { 4, 0, 0,   0,   4,   0, 0, 0, 3, 0,
                                        0, 0, 'G', 'N', 'U', 0, 1, 2, 3, 4 };
    uint8_t all[sizeof(build_id) + NOTE];
    memcpy(all, build_id, sizeof(build_id));
    memcpy(all + sizeof(build_id), watches, NOTE);
    struct image_place place = read_notes(all, sizeof(all), PLACE_WATCHES);
    assert_int_equal(place.address, AT + sizeof(build_id) + DESCRIPTION + 8 + 0x100);
}

static void notes_of_other_names_types_and_sizes_are_passed_over(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t value;
    } changes[] = { { 12, 'C' }, { 8, 3 }, { 8, 0xff }, { 4, 12 } };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        uint8_t other[NOTE];
        memcpy(other, watches, NOTE);
        other[changes[i].at] = changes[i].value;
        assert_int_equal(read_notes(other, NOTE, PLACE_WATCHES).address, 0);
    }
}

// is_found is a bytes_visit_fn.
static int is_found(const uint8_t *bytes, size_t size, void *context)
{
    (void)context;
    return read_notes(bytes, size, PLACE_WATCHES).address != 0;
}

static void a_cut_note_says_nothing(void **state)
{
    (void)state;
    assert_int_equal(bytes_cut_everywhere(watches, NOTE, is_found, NULL), 0);
}

static void a_note_with_any_bit_flipped_is_survived(void **state)
{
    (void)state;
    // Flipped bits of what it tells leave it a note.
    int told = bytes_flip_every_bit(watches, NOTE, is_found, NULL);
    assert_int_equal(told, (NOTE - DESCRIPTION + 2) * 8); // and of the name's padding
}

static void a_place_outside_of_its_image_is_refused(void **state)
{
    (void)state;
    struct image_place place = { 0x2000, PLACE_NOTE_VERSION, 0x100 };
    assert_null(place_note_problem(&place, 0x1000, 0x2100, 0x100));
    assert_non_null(place_note_problem(&place, 0x1000, 0x20ff, 0x100));
    assert_non_null(place_note_problem(&place, 0x2001, 0x3000, 0x100));
    assert_non_null(place_note_problem(&place, 0x1000, 0x2000, 0x100));
    place.address = UINT64_MAX - 8;
    assert_non_null(place_note_problem(&place, 0x1000, UINT64_MAX, 0x100));
}

static void a_place_of_another_version_or_size_is_refused(void **state)
{
    (void)state;
    struct image_place place = { 0x2000, PLACE_NOTE_VERSION, 0x100 };
    assert_non_null(place_note_problem(&place, 0x1000, 0x3000, 0xff));
    place.version++;
    assert_non_null(place_note_problem(&place, 0x1000, 0x3000, 0x100));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_note_gives_the_place_its_distance_leads_to),
        cmocka_unit_test(a_note_is_found_behind_others),
        cmocka_unit_test(notes_of_other_names_types_and_sizes_are_passed_over),
        cmocka_unit_test(a_cut_note_says_nothing),
        cmocka_unit_test(a_note_with_any_bit_flipped_is_survived),
        cmocka_unit_test(a_place_outside_of_its_image_is_refused),
        cmocka_unit_test(a_place_of_another_version_or_size_is_refused),
    };
    return cmocka_run_group_tests_name("agent/place_note", tests, NULL, NULL);
}
