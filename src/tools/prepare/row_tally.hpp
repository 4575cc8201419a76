// What is counted of the rows of a corpus, for people, and how long they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/data/corpus_info.hpp"

namespace trireme::tools {

// How long the rows of a corpus are.
struct RowLengths {
    std::uint64_t shortest = 0, p50 = 0, p90 = 0, p99 = 0, longest = 0;
};

// Percentiles by nearest rank; zeros where there are no rows.
RowLengths summarise(std::vector<std::uint64_t> lengths);

// Its name where the corpus has names, else its number.
std::string class_name(const data::CorpusInfo& info, std::size_t label);

class RowTally {
public:
    void add_tokens(std::uint64_t tokens) { tokens_.push_back(tokens); }

    // A row of that many tokens, of which the first are the question's.
    void add_question(std::uint64_t tokens, std::uint64_t question_tokens);
    void add_label(std::uint32_t label);

    RowLengths lengths() const { return summarise(tokens_); }
    const std::vector<std::uint64_t>& classes() const { return classes_; }  // rows of each

    // "tokens a row: min 55, p50 281, ..."; of questions and contexts too; none of images.
    std::vector<std::string> length_lines() const;

    // "10: airplane (203), automobile (194), ..."; empty where rows have no classes.
    std::string class_line(const data::CorpusInfo& info) const;

private:
    std::vector<std::uint64_t> tokens_;
    std::vector<std::uint64_t> question_tokens_;
    std::vector<std::uint64_t> context_tokens_;
    std::vector<std::uint64_t> classes_;
};

}  // namespace trireme::tools
