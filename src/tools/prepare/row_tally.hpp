// Statistics of the rows of a corpus: lengths and classes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/data/corpus_info.hpp"

namespace trireme::tools {

// Percentiles of the lengths of rows, in tokens.
struct RowLengths {
    std::uint64_t shortest = 0, p50 = 0, p90 = 0, p99 = 0, longest = 0;
};

// Computes percentiles by the nearest-rank method. All values are 0 if there are no rows.
RowLengths compute_percentiles(std::vector<std::uint64_t> lengths);

// Returns the name of the class, or its number if the corpus has no class names.
std::string find_class_name(const data::CorpusInfo& info, std::size_t label);

// Collects the lengths and classes of rows.
class RowTally {
public:
    void add_tokens(std::uint64_t tokens) { tokens_.push_back(tokens); }

    // Counts a row of `tokens` tokens, the first `question_tokens` of which are those of the question.
    void add_question(std::uint64_t tokens, std::uint64_t question_tokens);
    void add_label(std::uint32_t label);

    RowLengths lengths() const { return compute_percentiles(tokens_); }
    const std::vector<std::uint64_t>& classes() const { return classes_; }  // rows per class

    // Returns "tokens a row: min 55, p50 281, ...". If the rows are questions, further lines have the lengths
    // of questions and of contexts. Empty for images.
    std::vector<std::string> format_length_lines() const;

    // Returns "10: airplane (203), automobile (194), ..."; empty if rows have no classes.
    std::string format_class_line(const data::CorpusInfo& info) const;

private:
    std::vector<std::uint64_t> tokens_;
    std::vector<std::uint64_t> question_tokens_;
    std::vector<std::uint64_t> context_tokens_;
    std::vector<std::uint64_t> classes_;
};

}  // namespace trireme::tools
