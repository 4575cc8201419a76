#include "tools/prepare/prepare_progress.hpp"

#include "tools/printed_text.hpp"
#include "trireme/base/error.hpp"

namespace trireme::tools {
namespace {

std::string rate(std::uint64_t bytes, double seconds) {
    return seconds > 0 ? cat(in_megabytes(static_cast<double>(bytes) / seconds), "/s") : "- MB/s";
}

std::string describe_rows(const data::CorpusInfo& info) {
    if (info.kind == data::RowKind::image)
        return cat(with_commas(info.rows), " images of ", info.image.channels, " x ", info.image.height, " x ",
                   info.image.width, " pixels");
    return cat(with_commas(info.rows), info.kind == data::RowKind::question ? " questions, " : " rows, ",
               with_commas(info.tokens), " tokens, tokenizer ", info.tokenizer_name, " (vocabulary ",
               with_commas(info.vocabulary_size), ")");
}

}  // namespace

void PrepareProgress::say(const std::string& what) {
    if (!quiet_) out_ << "prepare: " << what << std::endl;
}

void PrepareProgress::show(std::uint64_t rows, const data::RowReader& reader) {
    constexpr std::uint64_t rows_between_looks = 64;
    if (rows % rows_between_looks != 0) return;
    const double megabytes = 1e-6 * static_cast<double>(reader.bytes_read());
    line_.advance_to(megabytes, reader.share_done() > 0 ? megabytes / reader.share_done() : 0);
}

void PrepareProgress::summarise(const data::CorpusInfo& info, const PrepareReport& report,
                                const RowTally& tally, const std::string& first_fault) {
    line_.finish();
    say(cat(info.path, ": ", describe_rows(info)));
    for (const std::string& line : tally.length_lines()) say(line);
    if (const std::string line = tally.class_line(info); !line.empty()) say(cat("classes: ", line));
    say_what_was_not_taken_as_it_is(report, first_fault);
    say(cat(in_megabytes(static_cast<double>(report.bytes_in)), " in ", one_decimal(report.seconds), " s, ",
            rate(report.bytes_in, report.seconds)));
}

void PrepareProgress::say_what_was_not_taken_as_it_is(const PrepareReport& report,
                                                      const std::string& first_fault) {
    if (report.filtered_rows > 0) say(cat(with_commas(report.filtered_rows), " rows do not match --where"));
    if (report.empty_rows > 0) say(cat(with_commas(report.empty_rows), " empty rows left out"));
    if (report.unanswerable > 0)
        say(cat(with_commas(report.unanswerable), " questions without an answer left out"));
    if (report.moved_answers > 0)
        say(cat(with_commas(report.moved_answers),
                " answers were not at their `answer_start`; the nearest place that holds them was taken"));
    if (report.skipped_rows > 0)
        say(cat(with_commas(report.skipped_rows), " bad rows left out (--skip-bad); the first: ", first_fault));
}

}  // namespace trireme::tools
