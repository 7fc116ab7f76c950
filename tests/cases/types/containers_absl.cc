// SPDX-License-Identifier: Apache-2.0
//
// Containers of Abseil. With an argument each is overwritten by pointers to itself.
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/container/inlined_vector.h>
#include <absl/status/status.h>
#include <absl/strings/cord.h>
#include <cstring>
#include <string>

static int *volatile nothing;

template <class T> static void damage(T &object)
{
    T *self = &object;
    for (size_t i = 0; i + sizeof(self) <= sizeof(object); i += sizeof(self))
        memcpy((char *)self + i, &self, sizeof(self));
}

int main(int argc, char **)
{
    absl::flat_hash_map<int, int> squares, nothing_mapped;
    absl::flat_hash_map<std::string, int> ages;
    absl::flat_hash_set<int> seen;
    absl::Cord short_text("short"), long_text(std::string(60, 'x'));
    absl::string_view viewed = "viewed";
    absl::InlinedVector<int, 4> inside{ 1, 2, 3 }, outside{ 1, 2, 3, 4, 5 };
    absl::Status fine, failed = absl::NotFoundError("no such order");
    absl::Status code_only(absl::StatusCode::kAborted, "");
    for (int i = 0; i < 5; i++) {
        squares[i] = i * i;
        ages["k" + std::to_string(i)] = i;
    }
    for (int i = 0; i < 40; i++)
        seen.insert(i);
    if (argc > 1)
        damage(squares), damage(ages), damage(seen), damage(short_text), damage(viewed),
            damage(inside), damage(outside), damage(failed);
    return *nothing;
}
