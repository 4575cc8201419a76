// Statistics of the rows of a corpus: the lengths of rows, and the number of rows per class.
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

// Returns the percentiles of `lengths` by the nearest-rank method: each is one of the lengths. All values are 0
// if `lengths` is empty.
RowLengths compute_percentiles(std::vector<std::uint64_t> lengths);

// Returns the name of class `label` for a terminal, at most 40 bytes of it. Returns the number of the class if
// the corpus has no class names.
std::string find_class_name(const data::CorpusInfo& info, std::size_t label);

// Collects the lengths and classes of rows. A row has a length, a class or both.
class RowTally {
public:
    // Adds the length of a row that is not a question.
    void add_tokens(std::uint64_t tokens) { tokens_.push_back(tokens); }

    // Adds the length of a question's row, in tokens. The first `question_tokens` tokens are those of the
    // question, and the others are those of the context.
    void add_question(std::uint64_t tokens, std::uint64_t question_tokens);
    void add_label(std::uint32_t label);  // adds the class of a row

    RowLengths lengths() const { return compute_percentiles(tokens_); }
    const std::vector<std::uint64_t>& classes() const { return classes_; }  // rows per class number

    // Returns a line such as "tokens per row: min 55, p50 281, ...". If the rows are questions, two further
    // lines have the lengths of the questions and of the contexts. Returns no lines for images.
    std::vector<std::string> format_length_lines() const;

    // Returns, for example, "10: airplane (203), automobile (194), ...": the number of classes, then the name
    // of each class with its number of rows. Lists at most 20 classes. Returns an empty text if rows have no
    // classes.
    std::string format_class_line(const data::CorpusInfo& info) const;

private:
    std::vector<std::uint64_t> tokens_;           // per row
    std::vector<std::uint64_t> question_tokens_;  // per question
    std::vector<std::uint64_t> context_tokens_;   // per question
    std::vector<std::uint64_t> classes_;
};

}  // namespace trireme::tools
