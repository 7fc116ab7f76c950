// SPDX-License-Identifier: Apache-2.0
//
// Work for jsoncpp, for check_locals.py.
#include <cstdio>
#include <json/json.h>
#include <memory>
#include <sstream>
#include <string>

int main()
{
    static const char text[] =
        "{\"name\": \"crash\", \"list\": [1, 2.5, true, null, \"x\\u00e9\"], "
        "\"deep\": {\"a\": {\"b\": [[], {}, [1, [2, [3]]]]}}, \"number\": -12345}";
    Json::CharReaderBuilder readers;
    Json::StreamWriterBuilder writers;
    size_t size = 0;
    for (int round = 0; round < 300; round++) {
        Json::Value root;
        std::string errors;
        std::unique_ptr<Json::CharReader> reader(readers.newCharReader());
        if (!reader->parse(text, text + sizeof(text) - 1, &root, &errors))
            return 1;
        root["round"] = round;
        root["list"].append(round * 0.5);
        std::string written = Json::writeString(writers, root);
        size += written.size();
    }
    printf("%zu\n", size);
    return 0;
}
