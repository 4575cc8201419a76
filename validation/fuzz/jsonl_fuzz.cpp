// Any line is a row, or a row with a fault. The contents of a row are no longer than its line.
#include <string>
#include <string_view>

#include "fuzz/target.hpp"
#include "trireme/data/source.hpp"

void trireme::fuzz::jsonl(std::string_view bytes) {
    data::SourceRow row;

    // The same row object reads line after line, as for a file.
    for (const std::string& line : {std::string(bytes), "{\"text\": \"" + std::string(bytes) + "\"}",
                                    "{\"ids\": [1, " + std::string(bytes) + "]}"}) {
        parse_json_row(line, row);
        if (!row.fault.empty()) continue;
        if (row.text().size() > line.size()) throw BugError("a text longer than its line");
        if (row.has_ids && row.token_ids.size() > line.size()) throw BugError("more ids than bytes");
        if (!row.has_ids && row.text_field < 0) throw BugError("a row without text has no fault");
    }
}
