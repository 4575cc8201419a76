// Reads the rows that the user selected. Rows that --where excludes are skipped. A bad row is an error, or,
// with --skip-bad, is skipped and counted.
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

    // Reads the next row. Returns false after the last row. Throws ConfigError at a bad row, unless bad rows
    // are skipped.
    bool next(data::SourceRow& row);

    // Treats `row` as a bad row: counts it, or throws ConfigError as next() does. `fault` says what is wrong
    // with the row. `remedy` says what the user can do; if `remedy` is empty, the error has the usual remedy
    // for this kind of rows.
    void refuse(const data::SourceRow& row, const std::string& fault, const std::string& remedy = "");

    // Called after the last row. Throws ConfigError if there was no usable row.
    void check_not_empty() const;

    const data::RowReader& reader() const { return reader_; }
    std::uint64_t skipped() const { return skipped_; }
    std::uint64_t filtered() const { return filter_.rows_seen() - filter_.rows_selected(); }
    const std::string& first_fault() const { return first_fault_; }

private:
    data::RowReader reader_;
    data::RowFilter filter_;
    bool skips_bad_rows_;
    std::uint64_t skipped_ = 0;
    std::string first_fault_;
};

}  // namespace trireme::tools
