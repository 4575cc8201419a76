// Reads the rows of `trireme prepare` that the user selected. Rows that --where excludes are skipped. With
// --skip-bad, bad rows are skipped and counted. Without it, a bad row is an error.
#pragma once

#include <cstdint>
#include <string>

#include "trireme/data/row_filter.hpp"
#include "trireme/data/source.hpp"
#include "trireme/tools/prepare.hpp"

namespace trireme::tools {

class SelectedRows {
public:
    explicit SelectedRows(const PrepareConfig& config);

    // Reads the next selected row. Returns false after the last row. Throws ConfigError at a bad row without
    // --skip-bad, and if an input file cannot be read further.
    bool next(data::SourceRow& row);

    // Reports that the caller cannot use `row`. With --skip-bad, counts `row` as skipped. Without --skip-bad,
    // throws ConfigError. `fault` says what is wrong with the row. `remedy` says what the user can do. If
    // `remedy` is empty, the error names the usual remedy for this kind of row.
    void refuse(const data::SourceRow& row, const std::string& fault, const std::string& remedy = "");

    // Called after the last row. Throws ConfigError with the reason if next() never returned true. Does not
    // throw if all rows that next() returned were refused.
    void check_not_empty() const;

    const data::RowReader& reader() const { return reader_; }
    std::uint64_t skipped() const { return skipped_; }  // bad rows
    // Number of rows that --where excluded.
    std::uint64_t filtered() const { return filter_.rows_seen() - filter_.rows_selected(); }
    // Location and fault of the first skipped row; empty if there is none.
    const std::string& first_fault() const { return first_fault_; }

private:
    data::RowReader reader_;
    data::RowFilter filter_;
    bool skips_bad_rows_;
    std::uint64_t skipped_ = 0;
    std::string first_fault_;
};

}  // namespace trireme::tools
