#include "tools/prepare/row_tally.hpp"

#include <algorithm>

#include "tools/printed_text.hpp"
#include "trireme/base/error.hpp"

namespace trireme::tools {
namespace {

constexpr std::size_t max_shown_classes = 20;

std::string format_percentiles(const char* unit, const std::vector<std::uint64_t>& token_counts) {
    const RowLengths percentiles = compute_percentiles(token_counts);
    return cat("tokens per ", unit, ": min ", format_with_commas(percentiles.shortest), ", p50 ",
               format_with_commas(percentiles.p50), ", p90 ", format_with_commas(percentiles.p90), ", p99 ",
               format_with_commas(percentiles.p99), ", max ", format_with_commas(percentiles.longest));
}

}  // namespace

RowLengths compute_percentiles(std::vector<std::uint64_t> lengths) {
    if (lengths.empty()) return {};
    std::sort(lengths.begin(), lengths.end());
    const auto find_percentile = [&lengths](std::size_t percent) {
        // The position of the percentile in the sorted list, counted from 1.
        const std::size_t nearest_rank = (lengths.size() * percent + 99) / 100;
        return lengths[std::max<std::size_t>(nearest_rank, 1) - 1];
    };
    return {lengths.front(), find_percentile(50), find_percentile(90), find_percentile(99), lengths.back()};
}

std::string find_class_name(const data::CorpusInfo& info, std::size_t label) {
    constexpr std::size_t max_name_bytes = 40;
    return info.class_names.empty() ? std::to_string(label)
                                    : sanitise_for_terminal(info.class_names[label], max_name_bytes);
}

void RowTally::add_question(std::uint64_t tokens, std::uint64_t question_tokens) {
    tokens_.push_back(tokens);
    question_tokens_.push_back(question_tokens);
    context_tokens_.push_back(tokens - question_tokens);
}

void RowTally::add_label(std::uint32_t label) {
    classes_.resize(std::max<std::size_t>(classes_.size(), label + std::size_t{1}));
    ++classes_[label];
}

std::vector<std::string> RowTally::format_length_lines() const {
    std::vector<std::string> lines;
    if (!tokens_.empty()) lines.push_back(format_percentiles("row", tokens_));
    if (!question_tokens_.empty()) lines.push_back(format_percentiles("question", question_tokens_));
    if (!context_tokens_.empty()) lines.push_back(format_percentiles("context", context_tokens_));
    return lines;
}

std::string RowTally::format_class_line(const data::CorpusInfo& info) const {
    if (info.classes == 0) return {};
    std::string line = cat(format_with_commas(info.classes), ":");
    const std::size_t shown_classes = std::min(info.classes, max_shown_classes);
    for (std::size_t label = 0; label < shown_classes; ++label) {
        const std::uint64_t rows = label < classes_.size() ? classes_[label] : 0;
        line += cat(label == 0 ? " " : ", ", find_class_name(info, label), " (", format_with_commas(rows), ")");
    }
    return shown_classes == info.classes
               ? line
               : cat(line, ", and ", format_with_commas(info.classes - shown_classes), " more");
}

}  // namespace trireme::tools
