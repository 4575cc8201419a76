// Which rows of a source a user wants.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/data/source_row.hpp"

namespace trireme::data {

// The rows a user wants: conditions joined by '&', all of which must hold. `field~text`: the field contains the
// text; `field=text`: it is the text. Fields are found as SourceRow::find() does.
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

}  // namespace trireme::data
