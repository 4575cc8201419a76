// Where the rows of a corpus come from: JSON lines (gzipped or not), plain text, or the synthetic sample; and
// which of them a user wants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace trireme {

// One row. The text is a view into the row, so a row outlives what is made of its text.
struct SourceRow {
    struct Field {
        std::string name;
        std::string value;  // numbers and booleans as JSON writes them
        bool is_text = false;
    };

    std::string place;               // "file:line", for messages
    std::string fault;               // why the row cannot be used; empty: it can
    std::vector<Field> fields;       // the top-level scalars of a JSON row, in its order; plain text has none
    std::vector<std::uint32_t> ids;  // of an id row
    bool is_ids = false;
    std::string plain;    // of a plain-text row
    int text_field = -1;  // the place in `fields` of a JSON row's text; -1: `plain` is the text

    std::string_view text() const {
        return text_field < 0 ? plain : fields[static_cast<std::size_t>(text_field)].value;
    }
};

// One line of JSON as a row. Nothing is thrown: what is wrong with the line becomes the row's fault.
//
// A row is an object. With `ids`, a list of numbers, it is an id row. Otherwise its text is the first of these
// that is there: `whole_func_string`, `original_string`, `code`, `func_code_string` (CodeSearchNet's names, the
// whole function first), `text`. Strings must be UTF-8, as JSON demands; plain text may be any bytes.
void parse_json_row(std::string_view line, SourceRow& row);

enum class RowUnit { line, paragraph, file };  // what a row of plain text is; paragraphs end at blank lines

// Throws ConfigError naming the three.
RowUnit row_unit_from_option(const std::string& option);

struct SourceConfig {
    std::vector<std::string> inputs;  // .jsonl, .ndjson and .json hold JSON lines, .txt and .md text; other
                                      // files hold JSON lines if they begin with '{'
    RowUnit unit = RowUnit::paragraph;
    std::string synthetic;  // "csn": the synthetic sample instead of inputs
    std::size_t count = 0;  // its rows
    std::uint64_t seed = 0;
};

// Reads one row after another and holds no more than one (but a whole file where that is the row).
class RowReader {
public:
    // Throws ConfigError where an input is missing, a folder, or of a form that is not read; before any is
    // read.
    explicit RowReader(SourceConfig config);
    RowReader(RowReader&&) noexcept;
    RowReader& operator=(RowReader&&) noexcept;
    ~RowReader();

    // False at the end. Throws ConfigError where a file cannot be read on: a damaged gzip file, say.
    bool next(SourceRow& row);

    std::uint64_t bytes_read() const;  // of text, after unpacking
    double share_done() const;         // of all inputs, 0 to 1

private:
    struct State;
    std::unique_ptr<State> state_;
};

// The rows a user wants: conditions joined by '&', all of which must hold. `field~text`: the field contains the
// text; `field=text`: it is the text. A field is found under both of CodeSearchNet's namings: `repo` is
// `repository_name`, `path` is `func_path_in_repository`, `url` is `func_code_url`.
class RowFilter {
public:
    // Empty: every row. Throws ConfigError for a condition without field, '~' or '='.
    explicit RowFilter(const std::string& where);

    // Whether the row is wanted; counts it.
    bool keeps(const SourceRow& row);

    // After the last row: throws ConfigError where no row had a field, or none was kept.
    void check_selection() const;

    std::uint64_t rows_seen() const { return seen_; }
    std::uint64_t rows_kept() const { return kept_; }

private:
    struct Condition {
        std::string field;
        std::string text;
        bool whole = false;                 // '=' instead of '~'
        std::vector<std::string> examples;  // the first unlike values, for the message when nothing matches
        bool found = false;                 // some row has the field
    };

    bool holds(Condition& condition, const SourceRow& row) const;

    std::string where_;
    std::vector<Condition> conditions_;
    std::vector<std::string> known_fields_;  // of the first row
    std::uint64_t seen_ = 0;
    std::uint64_t kept_ = 0;
};

}  // namespace trireme
