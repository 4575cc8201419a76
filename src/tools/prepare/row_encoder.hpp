// From rows of a source to rows of a corpus: questions and contexts as tokens, classes as numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trireme/data/corpus_writer.hpp"
#include "trireme/data/source_row.hpp"
#include "trireme/data/tokenizer.hpp"

namespace trireme::tools {

// A question and its context as tokens.
class QuestionEncoder {
public:
    explicit QuestionEncoder(const data::Tokenizer& tokenizer);

    // The question's tokens, the context's behind them, and those of the context's that overlap the answer.
    void encode(const data::SourceQuestion& question, data::CorpusRow& row);

private:
    data::Tokenizer tokenizer_;
    std::vector<std::size_t> bytes_of_;  // by token
    std::string context_;                // of the last question: the next one often shares it
    std::vector<std::uint32_t> context_tokens_;
};

// Whole numbers are classes as they are; other texts, and true and false, are numbered in the order in which
// they come.
class ClassNumbers {
public:
    explicit ClassNumbers(std::string field) : field_(std::move(field)) {}

    // Sets `label` to the row's class; returns what is wrong with it, or nothing.
    std::string take(const data::SourceRow& row, std::uint32_t& label);

    const std::vector<std::string>& names() const { return names_; }  // none where classes are numbers

private:
    std::string take_number(const std::string& value, std::uint32_t& label);
    std::string take_name(const std::string& value, std::uint32_t& label);

    std::string field_;
    bool has_numbers_ = false;
    std::map<std::string, std::uint32_t> number_of_;
    std::vector<std::string> names_;
};

// Why a row cannot be used, and what a user can do.
struct RowFault {
    std::string what;  // empty: it can be used
    std::string remedy;
};

class RowEncoder {
public:
    // `tokenizer`: none for images. `label`: the field of labelled texts.
    RowEncoder(data::RowKind kind, std::optional<data::Tokenizer> tokenizer, const std::string& label);

    // Replaces what `out` holds of its kind. A text may become no tokens at all.
    RowFault encode(const data::SourceRow& row, data::CorpusRow& out);

    const std::vector<std::string>& class_names() const { return classes_.names(); }  // of labelled texts

private:
    RowFault encode_text(const data::SourceRow& row, data::CorpusRow& out) const;
    RowFault encode_labelled(const data::SourceRow& row, data::CorpusRow& out);

    data::RowKind kind_;
    std::optional<data::Tokenizer> tokenizer_;
    ClassNumbers classes_;
    std::optional<QuestionEncoder> questions_;
};

}  // namespace trireme::tools
