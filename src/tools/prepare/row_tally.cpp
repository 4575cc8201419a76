#include "tools/prepare/row_tally.hpp"

#include <algorithm>

#include "tools/printed_text.hpp"
#include "trireme/base/error.hpp"

namespace trireme::tools {
namespace {

constexpr std::size_t classes_shown = 20;

std::string described(const char* of, const std::vector<std::uint64_t>& counts) {
    const RowLengths summary = summarise(counts);
    return cat("tokens a ", of, ": min ", with_commas(summary.shortest), ", p50 ", with_commas(summary.p50),
               ", p90 ", with_commas(summary.p90), ", p99 ", with_commas(summary.p99), ", max ",
               with_commas(summary.longest));
}

}  // namespace

RowLengths summarise(std::vector<std::uint64_t> lengths) {
    if (lengths.empty()) return {};
    std::sort(lengths.begin(), lengths.end());
    const auto at = [&lengths](std::size_t percent) {
        const std::size_t rank = (lengths.size() * percent + 99) / 100;  // from 1 to the number of rows
        return lengths[std::max<std::size_t>(rank, 1) - 1];
    };
    return {lengths.front(), at(50), at(90), at(99), lengths.back()};
}

std::string class_name(const data::CorpusInfo& info, std::size_t label) {
    constexpr std::size_t longest_name = 40;
    return info.class_names.empty() ? std::to_string(label)
                                    : for_terminal(info.class_names[label], longest_name);
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

std::vector<std::string> RowTally::length_lines() const {
    std::vector<std::string> lines;
    if (!tokens_.empty()) lines.push_back(described("row", tokens_));
    if (!question_tokens_.empty()) lines.push_back(described("question", question_tokens_));
    if (!context_tokens_.empty()) lines.push_back(described("context", context_tokens_));
    return lines;
}

std::string RowTally::class_line(const data::CorpusInfo& info) const {
    if (info.classes == 0) return {};
    std::string line = cat(with_commas(info.classes), ":");
    const std::size_t shown = std::min(info.classes, classes_shown);
    for (std::size_t label = 0; label < shown; ++label) {
        const std::uint64_t rows = label < classes_.size() ? classes_[label] : 0;
        line += cat(label == 0 ? " " : ", ", class_name(info, label), " (", with_commas(rows), ")");
    }
    return shown == info.classes ? line : cat(line, ", and ", with_commas(info.classes - shown), " more");
}

}  // namespace trireme::tools
