// The rows a user asked for: bad ones end the work or are counted, unwanted ones are passed over.
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

    // False at the end. Throws ConfigError at a bad row where bad rows are not to be left out.
    bool next(data::SourceRow& row);

    // Counts a bad row, or throws ConfigError as next() does. `remedy`: what a user can do; empty: what rows of
    // this kind ask for.
    void refuse(const data::SourceRow& row, const std::string& fault, const std::string& remedy = "");

    // After the last row: throws ConfigError where there was none to use.
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
