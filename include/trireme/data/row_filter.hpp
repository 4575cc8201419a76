// Selects rows of a source by their fields.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/data/source_row.hpp"

namespace trireme::data {

// Selects rows by conditions joined by '&', all of which must hold. `field~text` holds if the field contains
// the text, `field=text` if it equals the text. SourceRow::find() finds the fields.
class RowFilter {
public:
    // An empty `where` selects every row. Throws ConfigError for a condition without field, '~' or '='.
    explicit RowFilter(const std::string& where);

    // True if the row is selected. Counts the row.
    bool keeps(const SourceRow& row);

    // Called after the last row. Throws ConfigError if no row had one of the fields, or none was selected.
    void check_selection() const;

    std::uint64_t rows_seen() const { return seen_; }
    std::uint64_t rows_kept() const { return kept_; }

private:
    struct Condition {
        std::string field;
        std::string text;
        bool whole = false;                 // '=' rather than '~'
        std::vector<std::string> examples;  // first distinct values, for the message if no row matches
        bool found = false;                 // true if some row has the field
    };

    bool holds(Condition& condition, const SourceRow& row) const;

    std::string where_;
    std::vector<Condition> conditions_;
    std::vector<std::string> known_fields_;  // field names of the first row
    std::uint64_t seen_ = 0;
    std::uint64_t kept_ = 0;
};

}  // namespace trireme::data
