// Prints messages and shows progress while a corpus is made.
#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

#include "tools/prepare/row_tally.hpp"
#include "trireme/base/progress.hpp"
#include "trireme/data/corpus_info.hpp"
#include "trireme/data/source.hpp"
#include "trireme/tools/prepare.hpp"

namespace trireme::tools {

class PrepareProgress {
public:
    PrepareProgress(std::ostream& out, bool quiet)
        : out_(out), quiet_(quiet), line_("prepare", "MB", 0, quiet), begin_(Clock::now()) {}

    void print_message(const std::string& message);

    // Shows on a terminal how much of the input has been read. Called after each row; `rows` is the number of
    // rows written so far.
    void update_progress(std::uint64_t rows, const data::RowReader& reader);

    // Prints the final summary. `first_fault` describes the first row that --skip-bad skipped.
    void print_summary(const data::CorpusInfo& info, const PrepareReport& report, const RowTally& tally,
                       const std::string& first_fault);

    double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

private:
    void report_dropped_rows(const PrepareReport& report, const std::string& first_fault);

    using Clock = std::chrono::steady_clock;

    std::ostream& out_;
    bool quiet_;
    Progress line_;
    Clock::time_point begin_;
};

}  // namespace trireme::tools
