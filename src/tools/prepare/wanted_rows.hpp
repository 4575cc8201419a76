// Reads the rows that the user selected. Bad rows end the work or are counted; rows that
// --where excludes are skipped.
#pragma once

#include <cstdint>
#include <string>

#include "trireme/data/row_filter.hpp"
#include "trireme/data/source.hpp"
#include "trireme/tools/prepare.hpp"

namespace trireme::tools {

class WantedRows {
public:
    explicit WantedRows(const PrepareConfig& config);

    // Returns false at the end. Throws ConfigError at a bad row, unless bad rows are skipped.
    bool next(data::SourceRow& row);

    // Counts a bad row, or throws ConfigError as next() does. `remedy` says what the user can do; if empty, the
    // usual remedy of this kind of rows is named.
    void refuse(const data::SourceRow& row, const std::string& fault, const std::string& remedy = "");

    // Called after the last row. Throws ConfigError if no row could be used.
    void check_any() const;

    const data::RowReader& reader() const { return reader_; }
    std::uint64_t skipped() const { return skipped_; }
    std::uint64_t filtered() const { return filter_.rows_seen() - filter_.rows_kept(); }
    const std::string& first_fault() const { return first_fault_; }

private:
    data::RowReader reader_;
    data::RowFilter filter_;
    bool skip_bad_;
    std::uint64_t skipped_ = 0;
    std::string first_fault_;
};

}  // namespace trireme::tools
