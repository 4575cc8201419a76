// One row of a source, before it becomes a row of a corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::data {

// A question of a SQuAD file and the context that answers it.
struct SourceQuestion {
    std::string text;  // without white space at its ends
    std::string context;
    std::size_t answer_begin = 0;  // the first answer is the bytes [begin, end) of the context
    std::size_t answer_end = 0;
    bool is_moved = false;             // it was not where the file says, but is elsewhere in the context
    std::vector<std::string> answers;  // distinct, without white space at their ends
};

struct SourceImage {
    std::vector<std::uint8_t> pixels;  // (channels, height, width)
    std::uint32_t label = 0;
};

// The text is a view into the row, so a row outlives what is made of its text.
struct SourceRow {
    struct Field {
        std::string name;
        std::string value;  // numbers and booleans as JSON writes them; null: empty
        bool is_text = false;
    };

    std::string place;               // "file:line", for messages
    std::string fault;               // why the row cannot be used; empty: it can
    std::vector<Field> fields;       // the top-level scalars of a JSON row, in its order; id and title of a
                                     // question
    std::vector<std::uint32_t> ids;  // of an id row
    bool is_ids = false;
    std::string plain;    // of a plain-text row
    int text_field = -1;  // the place in `fields` of a JSON row's text; -1: `plain` is the text
    SourceQuestion question;
    SourceImage image;

    std::string_view text() const {
        return text_field < 0 ? plain : fields[static_cast<std::size_t>(text_field)].value;
    }

    // Null where there is none. A field is found under both of CodeSearchNet's namings: `repo` is
    // `repository_name`, `path` is `func_path_in_repository`, `url` is `func_code_url`.
    const Field* find(std::string_view name) const;
};

// One line of JSON as a row. Nothing is thrown: what is wrong with the line becomes the row's fault.
//
// A row is an object. With `ids`, a list of numbers, it is an id row. Otherwise its text is the first of these
// that is there: `whole_func_string`, `original_string`, `code`, `func_code_string` (CodeSearchNet's names, the
// whole function first), `text`. Strings must be UTF-8, as JSON demands; plain text may be any bytes.
void parse_json_row(std::string_view line, SourceRow& row);

}  // namespace trireme::data
