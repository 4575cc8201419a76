#include "tools/prepare/prepare_progress.hpp"

#include "tools/printed_text.hpp"
#include "trireme/base/error.hpp"

namespace trireme::tools {
namespace {

std::string format_rate(std::uint64_t bytes, double seconds) {
    return seconds > 0 ? cat(format_megabytes(static_cast<double>(bytes) / seconds), "/s") : "- MB/s";
}

std::string describe_rows(const data::CorpusInfo& info) {
    if (info.kind == data::RowKind::image)
        return cat(format_count(info.rows, "image"), " of ", info.image.channels, " x ", info.image.height,
                   " x ", info.image.width, " pixels");
    return cat(format_count(info.rows, info.kind == data::RowKind::question ? "question" : "row"), ", ",
               format_count(info.tokens, "token"), ", tokenizer ", info.tokenizer_name, " (vocabulary ",
               format_with_commas(info.vocabulary_size), ")");
}

}  // namespace

void PrepareProgress::print_message(const std::string& message) {
    if (!is_quiet_) out_ << "prepare: " << message << std::endl;
}

void PrepareProgress::update_progress(std::uint64_t rows, const data::RowReader& reader) {
    constexpr std::uint64_t rows_between_updates = 64;
    if (rows % rows_between_updates != 0) return;
    const double megabytes = 1e-6 * static_cast<double>(reader.bytes_read());
    // The total after decompression is an estimate; 0 means unknown.
    line_.advance_to(megabytes, reader.fraction_read() > 0 ? megabytes / reader.fraction_read() : 0);
}

void PrepareProgress::print_summary(const data::CorpusInfo& info, const PrepareReport& report,
                                    const RowTally& tally, const std::string& first_fault) {
    line_.finish();
    print_message(cat(info.path, ": ", describe_rows(info)));
    for (const std::string& line : tally.format_length_lines()) print_message(line);
    if (const std::string line = tally.format_class_line(info); !line.empty())
        print_message(cat("classes: ", line));
    print_skipped_rows(report, first_fault);
    print_message(cat(format_megabytes(static_cast<double>(report.input_bytes)), " in ",
                      format_one_decimal(report.seconds), " s, ",
                      format_rate(report.input_bytes, report.seconds)));
}

void PrepareProgress::print_skipped_rows(const PrepareReport& report, const std::string& first_fault) {
    if (report.filtered_rows > 0)
        print_message(cat("--where excluded ", format_count(report.filtered_rows, "row")));
    if (report.empty_rows > 0) print_message(cat(format_count(report.empty_rows, "empty row"), " skipped"));
    if (report.unanswerable_questions > 0)
        print_message(
            cat(format_count(report.unanswerable_questions, "question"), " without an answer skipped"));
    if (report.moved_answers > 0)
        print_message(cat(format_count(report.moved_answers, "answer"),
                          " moved from `answer_start` to the nearest place with the same text"));
    if (report.skipped_rows > 0)
        print_message(cat(format_count(report.skipped_rows, "bad row"),
                          " skipped (--skip-bad); the first: ", first_fault));
}

}  // namespace trireme::tools
