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
    // If `is_quiet`, nothing is printed. `out` must outlive this object.
    PrepareProgress(std::ostream& out, bool is_quiet)
        : out_(out), is_quiet_(is_quiet), line_("prepare", "MB", 0, is_quiet), begin_time_(Clock::now()) {}

    void print_message(const std::string& message);  // prints the line "prepare: MESSAGE"

    // Shows on a terminal how much of the input has been read. Called after each written row; `rows` is the
    // number of rows that have been written. Updates the line only once in 64 calls.
    void update_progress(std::uint64_t rows, const data::RowReader& reader);

    // Ends the progress line and prints the summary. `first_fault` describes the first row that --skip-bad
    // skipped; it may be empty if no row was skipped.
    void print_summary(const data::CorpusInfo& info, const PrepareReport& report, const RowTally& tally,
                       const std::string& first_fault);

    // Seconds since construction.
    double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_time_).count(); }

private:
    // Prints the number of skipped rows per reason, and the number of moved answers.
    void print_skipped_rows(const PrepareReport& report, const std::string& first_fault);

    using Clock = std::chrono::steady_clock;

    std::ostream& out_;
    bool is_quiet_;
    Progress line_;  // on standard error
    Clock::time_point begin_time_;
};

}  // namespace trireme::tools
