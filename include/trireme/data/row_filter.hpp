// Selects rows of a source by their fields.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/data/source_row.hpp"

namespace trireme::data {

// Selects the rows that fulfil all conditions of --where. '&' joins conditions. A row fulfils `field~text` if
// the field contains the text, and `field=text` if the field equals the text. SourceRow::find() looks up the
// fields.
class RowFilter {
public:
    // An empty `where` selects all rows. Throws ConfigError for a condition that lacks the field or the
    // operator ('~' or '=').
    explicit RowFilter(const std::string& where);

    // Counts the row, and returns true if it is selected.
    bool select(const SourceRow& row);

    // Called after the last row. Throws ConfigError if the field of a condition occurred in no row, or if no
    // row was selected. Does nothing if there were no rows.
    void check_selection() const;

    std::uint64_t rows_seen() const { return seen_rows_; }
    std::uint64_t rows_selected() const { return selected_rows_; }

private:
    struct Condition {
        std::string field;
        std::string text;
        bool is_exact = false;  // true for '=', false for '~'
        // The first distinct values of the field, for the message if no row is selected.
        std::vector<std::string> examples;
        bool is_field_known = false;  // true if a row had the field
    };

    // Returns true if the row fulfils the condition. Updates `examples` and `is_field_known`.
    bool holds(Condition& condition, const SourceRow& row) const;

    std::string where_;
    std::vector<Condition> conditions_;
    std::vector<std::string> first_row_fields_;  // field names of the first row
    std::uint64_t seen_rows_ = 0;
    std::uint64_t selected_rows_ = 0;
};

}  // namespace trireme::data
