// One row of a source: a row before it becomes tokens or pixels of a corpus.
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
    std::size_t answer_begin = 0;  // the first answer is bytes [answer_begin, answer_end) of the context
    std::size_t answer_end = 0;
    bool is_answer_moved = false;      // true if the answer is not at the file's `answer_start`
    std::vector<std::string> answers;  // distinct texts of all answers, stripped of white space
};

struct SourceImage {
    std::vector<std::uint8_t> pixels;  // (channels, height, width)
    std::uint32_t label = 0;
};

// A row of a source. The row must outlive the view that text() returns.
struct SourceRow {
    struct Field {
        std::string name;
        std::string value;     // numbers and booleans as JSON spells them; empty for null
        bool is_text = false;  // true if the JSON value is a string
    };

    std::string location;  // "file:line", for messages
    std::string fault;     // why the row cannot be used; empty if the row can be used
    // For a JSON row: its top-level fields in their order, without lists and objects. For a question: id and
    // title.
    std::vector<Field> fields;
    std::vector<std::uint32_t> token_ids;  // if the row has token ids in place of text
    bool has_ids = false;
    std::string plain_text;  // if the row comes from a plain-text file
    int text_field = -1;     // index of the text in `fields`; -1 if `plain_text` is the text
    SourceQuestion question;
    SourceImage image;

    std::string_view text() const {
        return text_field < 0 ? plain_text : fields[static_cast<std::size_t>(text_field)].value;
    }

    // Returns the field `name`, or null if there is none. Some fields of CodeSearchNet have two names. Either
    // name finds the field: `repo` or `repository_name`, `path` or `func_path_in_repository`, `url` or
    // `func_code_url`.
    const Field* find(std::string_view name) const;
};

// Parses one line of JSON as a row. Throws nothing: an error in the line is reported as `row.fault`.
//
// The line must be a JSON object. If the object has a list of numbers `ids`, these numbers are the token ids of
// the row. Otherwise the text of the row is the first of these fields that exists: `whole_func_string`,
// `original_string`, `code`, `func_code_string` (all of CodeSearchNet), `text`. Strings must be UTF-8, as JSON
// requires. (The text of rows from plain-text files may be any bytes.)
void parse_json_row(std::string_view line, SourceRow& row);

}  // namespace trireme::data
