#include "tools/prepare_progress.hpp"

#include "tools/figures.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace {

constexpr std::chrono::seconds between_lines(1);

std::string rate(std::uint64_t bytes, double seconds) {
    return seconds > 0 ? cat(in_megabytes(static_cast<double>(bytes) / seconds), "/s") : "- MB/s";
}

}  // namespace

void PrepareProgress::say(const std::string& what) {
    if (!quiet_) out_ << "prepare: " << what << std::endl;
}

void PrepareProgress::show(std::uint64_t rows, const RowReader& reader) {
    if (quiet_) return;
    const Clock::time_point now = Clock::now();
    if (now - shown_ < between_lines) return;
    shown_ = now;
    say(cat(with_commas(rows), " rows, ", in_megabytes(static_cast<double>(reader.bytes_read())), ", ",
            one_decimal(100 * reader.share_done()), " %, ", rate(reader.bytes_read(), seconds())));
}

void PrepareProgress::summarise(const CorpusInfo& info, const PrepareReport& report,
                                const std::string& first_fault) {
    say(cat(info.path, ": ", with_commas(report.rows), " rows, ", with_commas(report.tokens),
            " tokens, tokenizer ", info.tokenizer_name, " (vocabulary ", with_commas(info.vocabulary_size),
            ")"));
    say(cat("tokens a row: min ", with_commas(report.shortest), ", p50 ", with_commas(report.p50), ", p90 ",
            with_commas(report.p90), ", p99 ", with_commas(report.p99), ", max ", with_commas(report.longest)));
    if (report.filtered_rows > 0) say(cat(with_commas(report.filtered_rows), " rows do not match --where"));
    if (report.empty_rows > 0) say(cat(with_commas(report.empty_rows), " empty rows left out"));
    if (report.skipped_rows > 0)
        say(cat(with_commas(report.skipped_rows), " bad rows left out (--skip-bad); the first: ", first_fault));
    say(cat(in_megabytes(static_cast<double>(report.bytes_in)), " in ", one_decimal(report.seconds), " s, ",
            rate(report.bytes_in, report.seconds)));
}

}  // namespace trireme
