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
    std::string text;  // stripped of white space
    std::string context;
    std::size_t answer_begin = 0;  // the first answer is bytes [begin, end) of the context
    std::size_t answer_end = 0;
    bool is_moved = false;             // found elsewhere in the context than the file says
    std::vector<std::string> answers;  // distinct; stripped of white space
};

struct SourceImage {
    std::vector<std::uint8_t> pixels;  // (channels, height, width)
    std::uint32_t label = 0;
};

// text() returns a view into the row, so that the row must outlive the view.
struct SourceRow {
    struct Field {
        std::string name;
        std::string value;  // numbers and booleans as in JSON; empty for null
        bool is_text = false;
    };

    std::string place;  // "file:line", for messages
    std::string fault;  // why the row cannot be used; empty if it can
    // The top-level scalars of a JSON row in their order, or id and title of a question.
    std::vector<Field> fields;
    std::vector<std::uint32_t> ids;  // of a row of token ids
    bool is_ids = false;
    std::string plain;    // of a plain-text row
    int text_field = -1;  // index of the text in `fields`; -1 if `plain` is the text
    SourceQuestion question;
    SourceImage image;

    std::string_view text() const {
        return text_field < 0 ? plain : fields[static_cast<std::size_t>(text_field)].value;
    }

    // Returns null if there is no such field. A field is found under both of CodeSearchNet's names: `repo` is
    // `repository_name`, `path` is `func_path_in_repository`, `url` is `func_code_url`.
    const Field* find(std::string_view name) const;
};

// Parses one line of JSON as a row. Throws nothing: an error in the line becomes the row's fault.
//
// A row is an object. If it has `ids`, a list of numbers, they are its tokens. Otherwise its text is the first
// existing field of `whole_func_string`, `original_string`, `code`, `func_code_string` (CodeSearchNet's names,
// the whole function first), `text`. Strings must be UTF-8, as JSON requires; plain text may be any bytes.
void parse_json_row(std::string_view line, SourceRow& row);

}  // namespace trireme::data
